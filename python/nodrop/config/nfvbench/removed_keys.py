"""Keys of NFVbench's earlier releases, with advice for files that still contain them."""

NO_SWITCH = "remove it: nodrop configures no switches, and NFVbench 2.0 removed the key"
REMOVED_KEYS = {
    "image_name": "remove it: the image is named after vm_image_file, and NFVbench 1.0.8 removed the key",
    "inter_node": "write openstack.server_group: anti-affinity for the VMs of a chain on several hosts; NFVbench 2.0 "
    "removed the key",
    "no_int_config": NO_SWITCH,
    "no_reset": NO_SWITCH,
    "no_tor_access": NO_SWITCH,
    "tor": NO_SWITCH,
    "traffic_generator.vnis": "write segmentation_id in internal_networks.left and internal_networks.right; NFVbench "
    "3.0.3 removed the key",
}

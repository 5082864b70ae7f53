#!/bin/sh
# VM etsi-8.2.2.4 on host-a, as a request to OpenStack.
# Nova chooses the CPUs itself and accepts no list. The placement maps vCPUs to CPUs 0:1, 1:17, 2:2,
#   3:18, 4:3, 5:19, 6:4, 7:20, 8:9, 9:25, 10:10, 11:26, 12:11, 13:27. Compare after the start, on
#   the host: nodrop vm verify NAME --placement FILE
# nova.conf of the host: [compute] cpu_dedicated_set has to hold these CPUs, cpu_shared_set the
#   hypervisor's own threads (0, 16).
# Nova chooses which of the host's NUMA nodes each guest node gets; the placement has 0:0, 1:1
#   (guest:host). It keeps devices on one of them, but not on a particular one.
# Nova backs all of a VM's memory with pages of one size, here 1024 MiB: it uses 10 on node 0, 4 on
#   node 1, more than in the placement. Make sure that they are free.
# The image has to set hw_machine_type=q35 (on Arm: virt), for the guest's own IOMMU.
# nova.conf of the host: [pci] device_spec has to list 0000:03:00.0, 0000:03:10.0.
set -e

openstack flavor create --vcpus 14 --ram 14336 --disk 0 \
  --property hw:cpu_policy=dedicated \
  --property hw:cpu_thread_policy=require \
  --property hw:emulator_threads_policy=share \
  --property hw:cpu_sockets=7 \
  --property hw:cpu_cores=1 \
  --property hw:cpu_threads=2 \
  --property hw:numa_nodes=2 \
  --property hw:numa_cpus.0=0,1,2,3,4,5,6,7 \
  --property hw:numa_mem.0=10240 \
  --property hw:numa_cpus.1=8,9,10,11,12,13 \
  --property hw:numa_mem.1=4096 \
  --property hw:mem_page_size=1048576kB \
  --property hw:locked_memory=true \
  --property hw:pci_numa_affinity_policy=required \
  --property hw:viommu_model=auto \
  etsi-8-2-2-4

openstack port create --network "${NETWORK_0:?the network of interface 0 of vCPU set 0}" --vnic-type direct-physical etsi-8-2-2-4-0
openstack network qos policy create etsi-8-2-2-4-1
openstack network qos rule create --type minimum-bandwidth --min-kbps 5000000 --egress etsi-8-2-2-4-1
openstack network qos rule create --type minimum-bandwidth --min-kbps 5000000 --ingress etsi-8-2-2-4-1
openstack port create --network "${NETWORK_1:?the network of interface 1 of vCPU set 0}" --vnic-type direct --qos-policy etsi-8-2-2-4-1 etsi-8-2-2-4-1

openstack --os-compute-api-version 2.74 server create --flavor etsi-8-2-2-4 --image "${IMAGE:?name of the image in Glance}" \
  --port etsi-8-2-2-4-0 \
  --port etsi-8-2-2-4-1 \
  --host host-a \
  etsi-8-2-2-4

"""An ML2 mechanism driver that binds every port on every host, without agents.

With it Neutron sets the `binding:vif_type` of ports of servers without a guest, and makes them ACTIVE.
"""

from typing import Any

from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class BindingDriver(api.MechanismDriver):  # type: ignore[misc]
    """Binds to the first segment: to the virtual switch, or as a virtual function."""

    resource_provider_uuid5_namespace = None

    def initialize(self) -> None:
        """Require no initialization."""

    @property
    def connectivity(self) -> str:
        return str(portbindings.CONNECTIVITY_L2)

    def bind_port(self, context: Any) -> None:
        segment = context.segments_to_bind[0]
        if context.current.get(portbindings.VNIC_TYPE, "normal") == "normal":
            kind, details = "ovs", {"port_filter": False, "connectivity": "l2"}
        else:
            kind, details = "hw_veb", {"port_filter": False, "vlan": segment.get(api.SEGMENTATION_ID)}
        context.set_binding(segment[api.ID], kind, details, status=constants.PORT_STATUS_ACTIVE)

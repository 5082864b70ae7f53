"""What the stack of this host shows of it to those who place VMs: annex A's table, asked of what runs here now."""

from collections.abc import Callable

from nodrop.host.exposure import kubernetes, libvirt, openstack
from nodrop.host.exposure.table import FEATURES
from nodrop.host.inputs import ProgramOutput
from nodrop.model.exposure import StackExposure

__all__ = ["FEATURES", "query_exposures"]


def query_exposures(
    run: Callable[..., ProgramOutput], hostname: str, uri: str = libvirt.SYSTEM
) -> tuple[StackExposure, ...]:
    """What libvirt, OpenStack and Kubernetes show of this host; one that cannot be asked says why.

    Args:
        run: runs a program, in bounded time.
        hostname: the host by its name, which orchestrators know it by.
        uri: the libvirt daemon.
    """
    return (
        libvirt.query_libvirt_exposure(run, uri),
        openstack.query_openstack(hostname),
        kubernetes.query_kubernetes(run, hostname),
    )

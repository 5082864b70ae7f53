"""`nodrop vm config`: a placed VM in the format of a VM manager."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import FILE
from nodrop.errors import ConfigError, PlacementError

if TYPE_CHECKING:
    from nodrop.model.chd import HostDescriptor
    from nodrop.model.placement import Placement
    from nodrop.model.vmd import VmDescriptor
    from nodrop.vm.config.instance import Instance

ConfigForm = Literal["libvirt", "nova", "k8s", "tosca"]


@click.command()
@click.option("--vmd", type=FILE, required=True, help="VM Descriptor.")
@click.option("--host", "hosts", type=FILE, multiple=True, help="Host descriptor.  [default: this machine]")
@click.option("--placement", "placed", type=FILE, help="Output of `nodrop vm place`; otherwise the VM is placed now.")
@click.option("--format", "form", type=Choice(["libvirt", "nova", "k8s", "tosca"]), required=True)
@click.option(
    "--image",
    "images",
    multiple=True,
    help="Image: a file for libvirt, repeated for each disk; a name in Glance; a container image.",
)
@click.option("--emulate", is_flag=True, help="libvirt: emulate without KVM, for trials only.")
@click.option("-o", "--output", type=FILE, help="Output file.  [default: standard output]")
def config(
    *,
    vmd: str,
    hosts: tuple[str, ...],
    placed: str | None,
    form: ConfigForm,
    images: tuple[str, ...],
    emulate: bool,
    output: str | None,
) -> None:
    """Write the configuration of a placed VM, with the exact CPUs, pages and devices, for a VM manager.

    libvirt: a domain for `virsh define`. nova: `openstack` commands for flavor, ports and server. k8s: a pod with its
    networks, for `kubectl apply`. tosca: node templates of ETSI GS NFV-SOL 001. Facts that a format cannot express are
    comments in the file. Nothing is started; `nodrop vm verify` compares a running VM with its placement.
    """
    from nodrop.cli.host.host_argument import read_or_describe_host
    from nodrop.descriptors import read_vmd
    from nodrop.descriptors.placement import read_placement
    from nodrop.vm.config.instance import build_instance
    from nodrop.vm.place.inventory import identify_host

    if emulate and form != "libvirt":
        raise ConfigError(f"--emulate: not supported with --format {form}; use it with libvirt")
    requested, remarks = read_vmd(vmd)
    for remark in remarks:
        click.echo(f"nodrop: {vmd}: {remark}", err=True)
    candidates = [read_or_describe_host(file) for file in hosts or (None,)]
    placement = read_placement(placed) if placed else _place_vm(requested, candidates)
    host = next((each for each in candidates if identify_host(each) == placement.host_id), candidates[0])
    _write(_format_config(build_instance(requested, placement, host), form, images, emulate), output)


def _place_vm(vmd: "VmDescriptor", hosts: "list[HostDescriptor]") -> "Placement":
    from rich.console import Group

    from nodrop.cli.console import make_console, print_renderable
    from nodrop.report.placement import format_placement
    from nodrop.vm.place import place_vm

    result = place_vm(vmd, hosts)
    if result.placement is None:
        print_renderable(Group(*format_placement(result, None, make_console(sys.stderr).width)), sys.stderr)
        raise PlacementError(f"no host fits {result.vm} ({len(hosts)} checked); see the reasons above")
    for sentence in (*result.placement.substitutions, *result.placement.warnings):
        click.echo(f"nodrop: {vmd.name}: {sentence}", err=True)
    return result.placement


def _format_config(instance: "Instance", form: ConfigForm, images: tuple[str, ...], emulate: bool) -> str:
    from nodrop.vm.config import k8s, libvirt, nova, tosca

    if form == "libvirt":
        return libvirt.write_domain(instance, libvirt.DomainOptions(images=images, type="qemu" if emulate else "kvm"))
    if len(images) > 1:
        raise ConfigError(f"--image: given {len(images)} times; --format {form} takes one")
    image = images[0] if images else ""
    if form == "tosca":
        return tosca.write_service(instance)
    return nova.write_commands(instance, image) if form == "nova" else k8s.write_manifests(instance, image)


def _write(text: str, output: str | None) -> None:
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"invalid Unicode in a name: {error.object[error.start : error.end]!r}") from error
    if output in (None, "-"):
        click.echo(content, nl=False)
        return
    path = Path(str(output))
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ConfigError(f"-o {path}: cannot be written: {error.strerror}") from error

"""`nodrop vm-image build`: the loopback VM as a file for Glance and QEMU."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import FILE
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.vmimage.manifest import Manifest

OUTPUT_STEM = "nodrop-vm"
MIB = 2**20
EPILOG = """
\b
Examples:
  nodrop vm-image build                                    nodrop-vm.qcow2 in this directory
  nodrop vm-image build -o loop.raw --manifest loop.json   a raw disk, with manifest
  nodrop vm-image build --packages debs/                   offline
"""


@click.command(epilog=EPILOG)
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Output file.  [default: nodrop-vm.FORMAT]")
@click.option("--format", "form", type=Choice(["qcow2", "raw"]), help="[default: by FILE's suffix; else qcow2]")
@click.option("--manifest", type=FILE, metavar="FILE", help="Write all inputs as JSON.")
@click.option("--packages", type=FILE, metavar="DIR", help="Directory of packages (.deb), instead of downloads.")
@click.option("--kernel", metavar="PACKAGE", help="Debian kernel package.  [default: linux-image-cloud-amd64]")
@click.option(
    "--with", "others", multiple=True, metavar="FORWARDER", help="Include another forwarder: testpmd, from DPDK."
)
@click.option("--vnf", type=FILE, metavar="FILE", help="nodrop-vnf binary.  [default: the installed one]")
def build(
    *,
    output: str | None,
    form: str | None,
    manifest: str | None,
    packages: str | None,
    kernel: str | None,
    others: tuple[str, ...],
    vnf: str | None,
) -> None:
    """Build the image of the loopback VM: a kernel, busybox and nodrop-vnf, from Debian packages.

    It boots in seconds, by BIOS or UEFI, and forwards frames between its first two interfaces; a config drive selects
    interfaces, destinations and layer 2 or 3. Needs no root. Packages are downloaded by apt once and cached in
    ~/.cache/nodrop/packages. The same packages and programs produce the same bytes; SOURCE_DATE_EPOCH is honored.

    How to use it: docs/how-to/vm-image.md.
    """
    from nodrop.vmimage.build import EXTRA_FORWARDERS, KERNEL, Recipe, build_image, check_writable, write_image
    from nodrop.vmimage.packages import Packages

    form = form or ("raw" if output and Path(output).suffix in (".raw", ".img") else "qcow2")
    file = Path(output or f"{OUTPUT_STEM}.{form}")
    recipe = Recipe(
        packages=Packages(Path(packages) if packages else None),
        vnf=_find_vnf(vnf),
        kernel=kernel or KERNEL,
        extra_forwarders=_check_forwarders(others, EXTRA_FORWARDERS),
        **_read_epoch(),
    )
    check_writable(file, form)
    image = build_image(recipe, lambda text: click.echo(f"nodrop: {text}", err=True))
    reported = write_image(image, file, form)
    if manifest:
        Path(manifest).write_text(reported.model_dump_json(indent=2) + "\n", encoding="utf-8")
    for line in _format_summary(file, reported, manifest):
        click.echo(line)


def _check_forwarders(named: tuple[str, ...], available: tuple[str, ...]) -> frozenset[str]:
    for name in named:
        if name not in available:
            why = "not packaged by Debian" if name == "vpp" else "unknown forwarder"
            raise ConfigError(f"--with {name}: {why}; available: {', '.join(available)}")
    return frozenset(named)


def _find_vnf(named: str | None) -> Path:
    from nodrop.errors import ImageError
    from nodrop.system.native_binaries import find_binary

    return Path(named) if named else find_binary("nodrop-vnf", ImageError)


def _read_epoch() -> dict[str, int]:
    """Read SOURCE_DATE_EPOCH. Source: reproducible-builds.org."""
    text = os.environ.get("SOURCE_DATE_EPOCH")
    if text is None:
        return {}
    if not text.isdigit():
        raise ConfigError(f"SOURCE_DATE_EPOCH: {text!r} is not a number of seconds since 1970; write e.g. 1700000000")
    return {"epoch_s": int(text)}


def _format_summary(file: Path, reported: "Manifest", manifest: str | None) -> list[str]:
    from nodrop.units import format_count

    version = {each.name: each.version for each in reported.packages}
    linked = (
        "static"
        if len(reported.vnf) == 1
        else f"with {format_count(len(reported.vnf) - 1, 'library', 'libraries')} of this machine"
    )
    return [
        f"{file}  {reported.bytes / MIB:.1f} MiB, {reported.format}",
        f"  kernel   {reported.kernel}, {format_count(len(reported.modules), 'module')}",
        f"  busybox  {version['busybox-static']}",
        f"  forwards by {', '.join(reported.forwarders)}; nodrop-vnf {reported.nodrop}, {linked}",
        f"  sha256   {reported.sha256}",
        f"  licenses GPL-2.0 and others; inputs listed in {manifest}"
        if manifest
        else "  licenses GPL-2.0 and others, under licences/ in the image; list all inputs with --manifest FILE",
    ]

"""Names of processors, and facts known only by model: the tables of `models.toml`."""

import tomllib
from functools import cache
from importlib.resources import files

from nodrop.model.base import Value
from nodrop.model.chd import TlbKind


class DirectCacheAccessRow(Value):
    """Direct cache access of some models."""

    vendor_id: str
    families: tuple[int, int]
    """First and last."""
    models: tuple[int, ...] = ()
    """Empty: all."""
    name: str = ""
    """A word in the model's name."""
    value: bool
    why: str
    source: str

    def fits(self, vendor_id: str, family: int, model: int, name: str) -> bool:
        """Return whether a processor matches this row."""
        first, last = self.families
        among = not self.models or model in self.models
        return vendor_id == self.vendor_id and first <= family <= last and among and self.name in name


class X86Names(Value):
    """Names on x86."""

    vendors: dict[str, str]
    hypervisors: dict[str, str]


class ArmNames(Value):
    """Names on Arm."""

    implementers: dict[str, str]
    parts: dict[str, str]


class IntelTlb(Value):
    """A descriptor of CPUID leaf 2."""

    level: int
    kind: TlbKind
    pages: tuple[str, ...]
    entries: int
    ways: int | None = None
    """0: fully associative; None: not documented."""


class FlagNames(Value):
    """Relevant kernel flag names."""

    x86: tuple[str, ...]
    x86_beginnings: tuple[str, ...]
    """Prefixes of flag families."""
    arm: tuple[str, ...]
    intel_spares: tuple[str, ...]
    """Flags that reduce VM exits, from the line `vmx flags`. The kernel combines some, e.g. as apicv."""
    amd_spares: tuple[str, ...]


class ModelTables(Value):
    """The content of the file."""

    x86: X86Names
    arm: ArmNames
    direct_cache_access: tuple[DirectCacheAccessRow, ...]
    flags: FlagNames
    intel_tlbs: dict[str, tuple[IntelTlb, ...]]


@cache
def load_models() -> ModelTables:
    """Load the tables, once."""
    return ModelTables.model_validate(tomllib.loads(files(__package__).joinpath("models.toml").read_text()))


def name_vendor(vendor_id: str) -> str:
    """Return `Intel` for `GenuineIntel`; unlisted ids are returned unchanged."""
    return load_models().x86.vendors.get(vendor_id.strip(), vendor_id.strip())


def name_hypervisor(letters: str) -> str:
    """Return `KVM` for `KVMKVMKVM`; unlisted signatures are returned unchanged."""
    return load_models().x86.hypervisors.get(letters, letters)


def name_implementer(code: int) -> str | None:
    """Return the vendor of an Arm processor, by MIDR_EL1 bits 31-24."""
    return load_models().arm.implementers.get(f"{code:#04x}")


def name_part(implementer_code: int, code: int) -> str | None:
    """Return the name of an Arm core, by MIDR_EL1 bits 15-4."""
    return load_models().arm.parts.get(f"{implementer_code:#04x}/{code:#05x}")


def find_direct_cache_access(vendor_id: str, family: int, model: int, name: str) -> DirectCacheAccessRow | None:
    """Return the row for this model; None: not in the table."""
    return next((row for row in load_models().direct_cache_access if row.fits(vendor_id, family, model, name)), None)

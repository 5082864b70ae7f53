"""JSON Schemas of descriptors: of hosts as written, of VMs as users may write them."""

from typing import Any

from nodrop.descriptors.units import PARSERS_BY_SUFFIX
from nodrop.descriptors.vmd_defaults import CAPABILITY_SETS, CLOUD, MODES
from nodrop.model.chd import HostDescriptor
from nodrop.model.vmd import VmDescriptor

DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
TEXT = {"type": "string"}


def build_chd_schema() -> dict[str, Any]:
    """Return the schema of the format of `nodrop host describe` and `read_chd`."""
    return DIALECT | HostDescriptor.model_json_schema(mode="validation")


def build_vmd_schema() -> dict[str, Any]:
    """Return the schema of `read_vmd`: text with units, a single profile at the top, cloud VMs without sets."""
    schema = DIALECT | VmDescriptor.model_json_schema(mode="validation")
    models: dict[str, Any] = schema["$defs"]
    for model in models.values():
        for name, field in model["properties"].items():
            _allow_units(name, field)
    _allow_alternative(models["VcpuSet"]["properties"]["vcpus"], {"type": ["string", "integer"], "examples": ["0-3,6"]})
    models["Interface"]["properties"]["mode"]["enum"] += MODES
    models["HypervisorRequirements"]["properties"]["capabilities"]["items"]["enum"] += CAPABILITY_SETS
    profile, memory = models["Profile"], models["SetMemory"]["properties"]
    cloud = {
        "vcpu_count": {"description": "Of a VM without sets: its vCPUs.", "anyOf": [{"type": "integer"}, TEXT]},
        "memory_bytes": memory["total_bytes"],
        "interfaces": models["VcpuSet"]["properties"]["interfaces"],
    }
    profile["properties"] |= {name: cloud.get(name) or memory[name] for name in CLOUD}
    profile["required"] = []
    profile["oneOf"] = [{"required": ["vcpu_sets"]}, {"required": ["vcpu_count", "memory_bytes"]}]
    schema["properties"] |= {name: field for name, field in profile["properties"].items() if name != "name"}
    schema["required"] = ["name"]
    schema["oneOf"] = [{"required": ["profiles"]}, *profile["oneOf"]]
    return schema


def _allow_units(name: str, field: dict[str, Any]) -> None:
    if any(name.endswith(ending) for ending in PARSERS_BY_SUFFIX) and "additionalProperties" not in field:
        _allow_alternative(field, TEXT)
    elif field.get("additionalProperties") == {"type": "number"}:
        field["additionalProperties"] = {"anyOf": [{"type": "number"}, TEXT]}


def _allow_alternative(field: dict[str, Any], other: dict[str, Any]) -> None:
    """Allow an alternative form of a value."""
    about = {key: field.pop(key) for key in ("title", "description", "default") if key in field}
    forms = field.pop("anyOf", None) or [dict(field)]
    field.clear()
    field |= about | {"anyOf": [*forms, other]}

"""The policer of a VNF: its bandwidth profile, and combinations of keys that no policer can have."""

from nodrop.config.policer import PolicerConfig
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.choices import SutKind
from nodrop.model.lab_plan import Policer
from nodrop.units import format_bps

POLICER_SUTS: frozenset[SutKind] = frozenset({"vnf-l2", "vnf-l3"})
"""SUTs that can police what each of their ports receives."""


def plan_policer(config: Config, largest: int) -> Policer | None:
    """Return the policer of a configuration, if any.

    Args:
        config: the configuration.
        largest: the largest frame size, with FCS.

    Raises: ConfigError for keys that do not form a bandwidth profile (MEF 10.2 section 7.11.1).
    """
    keys = config.vnf.policer
    if keys.cir is None:
        _check_absent(keys)
        return None
    if config.sut not in POLICER_SUTS or config.ports:
        raise ConfigError(
            f"vnf.policer.cir: {config.sut} has no policer ({format_bps(keys.cir)}); write sut: "
            f"{' or '.join(sorted(POLICER_SUTS))}, or remove vnf.policer"
        )
    if not keys.cir and not keys.eir:
        raise ConfigError(
            "vnf.policer.cir: no frame would pass a policer without a rate (0); set vnf.policer.cir or vnf.policer.eir"
        )
    _check_bucket("cbs", keys.cbs, "cir", largest, is_filled=keys.cir > 0)
    _check_bucket("ebs", keys.ebs, "eir", largest, is_filled=keys.eir > 0 or (keys.coupling and keys.cir > 0))
    return Policer(
        cir_bps=keys.cir,
        cbs_bytes=keys.cbs,
        eir_bps=keys.eir,
        ebs_bytes=keys.ebs,
        is_coupled=keys.coupling,
        color_mode=keys.color_mode,
        marks_frames=keys.mark,
    )


def _check_absent(keys: PolicerConfig) -> None:
    for key, field in PolicerConfig.model_fields.items():
        value = getattr(keys, key)
        if value != field.default:
            raise ConfigError(
                f"vnf.policer.{key}: a policer needs a committed rate ({value}); set vnf.policer.cir, 0 if there is "
                f"only an excess rate, or remove vnf.policer.{key}"
            )


def _check_bucket(size_key: str, size_bytes: int, rate_key: str, largest: int, *, is_filled: bool) -> None:
    if is_filled and size_bytes < largest:
        raise ConfigError(
            f"vnf.policer.{size_key}: the bucket never holds enough tokens for the largest frame ({size_bytes} bytes, "
            f"frames of up to {largest}); write at least {largest}"
        )
    if size_bytes and not is_filled:
        raise ConfigError(
            f"vnf.policer.{size_key}: without a rate these tokens are never renewed ({size_bytes}); set "
            f"vnf.policer.{rate_key}, or remove vnf.policer.{size_key}"
        )

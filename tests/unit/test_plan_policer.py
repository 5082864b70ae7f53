"""The policer of a VNF: keys, wrong combinations, and the arguments of its process."""

from typing import Any

import pytest

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.lab_plan import LabPlan, Policer
from nodrop.plan import build_plan
from nodrop.plan.resolvers import Resolvers
from nodrop.stage.vnf import build_vnf_commands

SERVICE = {
    "vnf.policer.cir": "1Mbps",
    "vnf.policer.cbs": 12500,
    "vnf.policer.eir": "500kbps",
    "vnf.policer.ebs": "12.5k",
}
PROFILE = Policer(cir_bps=1_000_000, cbs_bytes=12_500, eir_bps=500_000, ebs_bytes=12_500)


def plan_lab(existing: LabPlan | None = None, **keys: Any) -> LabPlan:
    resolvers = Resolvers(find_lab=lambda _: existing) if existing else Resolvers(inspect_ports=lambda names: names)
    return build_plan(build_config((), keys), resolvers, (0, 1)).lab


def list_arguments(lab: LabPlan) -> list[str]:
    (command,) = build_vnf_commands(lab, 1)
    arguments = [*command.arguments]
    return arguments[arguments.index("--cir") :] if "--cir" in arguments else []


def test_without_a_committed_rate_there_is_no_policer() -> None:
    lab = plan_lab()
    assert lab.sut_policer is None
    assert list_arguments(lab) == []


@pytest.mark.parametrize("sut", ["vnf-l2", "vnf-l3"])
def test_a_profile_reaches_the_process_in_bits_per_second_and_bytes(sut: str) -> None:
    lab = plan_lab(sut=sut, **SERVICE)
    assert lab.sut_policer == PROFILE
    assert list_arguments(lab) == ["--cir", "1000000", "--cbs", "12500", "--eir", "500000", "--ebs", "12500"]
    assert lab.sut_text == f"{sut} policed to 1.000 Mb/s committed and 500.0 kb/s excess"


def test_coupling_color_and_marks_are_flags_of_the_process() -> None:
    keys = {"vnf.policer.coupling": True, "vnf.policer.color_mode": "aware", "vnf.policer.mark": True}
    assert list_arguments(plan_lab(**SERVICE, **keys))[-3:] == ["--coupling", "--color-aware", "--mark"]


def test_a_service_may_have_an_excess_rate_only_or_excess_tokens_by_coupling_only() -> None:
    keys = {"vnf.policer.cir": 0, "vnf.policer.eir": 1000, "vnf.policer.ebs": 64}
    assert plan_lab(**keys).sut_policer == Policer(cir_bps=0, cbs_bytes=0, eir_bps=1000, ebs_bytes=64)
    assert "policed to 1.000 kb/s excess" in plan_lab(**keys).sut_text
    coupled = SERVICE | {"vnf.policer.eir": 0, "vnf.policer.coupling": True}
    assert plan_lab(**coupled).sut_policer == PROFILE.replace(eir_bps=0, is_coupled=True)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"vnf.policer.cbs": 1000, "frame_bytes": 1518},
            r"^vnf\.policer\.cbs: the bucket never holds enough tokens for the largest frame \(1000 bytes, frames of "
            r"up to 1518\); write at least 1518$",
        ),
        ({"vnf.policer.cbs": 0}, r"^vnf\.policer\.cbs: .* \(0 bytes, frames of up to 64\); write at least 64$"),
        ({"vnf.policer.ebs": 0}, r"^vnf\.policer\.ebs: .* \(0 bytes, frames of up to 64\); write at least 64$"),
        (
            {"vnf.policer.eir": 0},
            r"^vnf\.policer\.ebs: without a rate these tokens are never renewed \(12500\); set vnf\.policer\.eir, or "
            r"remove vnf\.policer\.ebs$",
        ),
        ({"vnf.policer.cir": 0}, r"^vnf\.policer\.cbs: without a rate .* \(12500\); set vnf\.policer\.cir"),
        ({"vnf.policer.cir": 0, "vnf.policer.eir": 0}, r"^vnf\.policer\.cir: no frame would pass .* \(0\)"),
        (
            {"vnf.policer.cir": None},
            r"^vnf\.policer\.cbs: a policer needs a committed rate \(12500\); set vnf\.policer\.cir, 0 if there is "
            r"only an excess rate, or remove vnf\.policer\.cbs$",
        ),
        ({"sut": "bridge"}, r"^vnf\.policer\.cir: bridge has no policer \(1\.000 Mb/s\); write sut: vnf-l2 or vnf-l3,"),
        ({"sut": "ext", "ports": ["a", "b"]}, r"^vnf\.policer\.cir: ext has no policer"),
        ({"vnf.policer.cir": 0.5}, r"vnf\.policer\.cir: .*integer.* \(0\.5\)"),
        ({"vnf.policer.cir": "1kpps"}, r"vnf\.policer\.cir: .*not a bit rate; write for example 10Gbps"),
        ({"vnf.policer.color_mode": "red"}, r"vnf\.policer\.color_mode: .*blind"),
    ],
)
def test_keys_that_form_no_bandwidth_profile_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan_lab(**(SERVICE | keys))


def test_a_standing_lab_keeps_its_policer() -> None:
    policed = plan_lab(frame_bytes=1000, **SERVICE | {"vnf.policer.cbs": 1000})
    assert plan_lab(policed, lab="mine").sut_policer == policed.sut_policer
    with pytest.raises(ConfigError, match=r"^vnf\.policer: lab mine has another policer or none; remove vnf\.policer"):
        plan_lab(policed, lab="mine", **SERVICE)
    with pytest.raises(ConfigError, match=r"^frame_bytes: too large for the policer of lab mine \(1518, .*1000\)"):
        plan_lab(policed, lab="mine", frame_bytes=1518)

"""Disturbed trials refer to the checks of the host they ran on."""

import json
from pathlib import Path

from tests.hosts import MOMENT, host
from tests.recorded import record_run
from tests.running import MILLION

from nodrop.formatting.messages import format_message
from nodrop.host.check import CHECK_RULES
from nodrop.host.check.disturbances import DISTURBANCE_CAUSES, find_disturbances
from nodrop.model.chd import HostDescriptor
from nodrop.model.trial import Doubt, TrialResult, Validity, ValidityStatus
from nodrop.report.document.warnings import REASONS

ROOT = Path(__file__).parents[2]


def doubtful_trial(directory: Path, code: str | None, index: int = 0) -> TrialResult:
    first = record_run(directory, MILLION).trials[0]
    doubts = (Doubt.suspect(code),) if code else ()
    validity = Validity(verdict=ValidityStatus.SUSPECT if code else ValidityStatus.VALID, doubts=doubts)
    return first.model_copy(update={"validity": validity, "index": index})


def host_with_settings(**settings: str) -> HostDescriptor:
    bare = host()
    message = {name: MOMENT.reported(value, "test") for name, value in settings.items()}
    return bare.model_copy(update={"capabilities": bare.capabilities.model_copy(update={"settings": message})})


def test_a_preempted_tester_points_at_isolation_and_says_that_its_cpu_is_not_isolated(tmp_path):
    (disturbances,) = find_disturbances(
        [doubtful_trial(tmp_path, "tester_preempted")], host_with_settings(isolated_cpus=""), (1,)
    )
    assert format_message(disturbances) == (
        "In trial #0 other work kept the tester off its CPU: the tester runs on CPUs without isolation: 1 (A2 fails). "
        "See: nodrop host check A2 A5."
    )


def test_a_preempted_sut_points_at_its_own_cpu_not_at_the_tester_s(tmp_path):
    (disturbances,) = find_disturbances(
        [doubtful_trial(tmp_path, "sut_preempted")], host_with_settings(isolated_cpus="0"), (0,), (1,)
    )
    assert "the SUT runs on CPUs without isolation: 1 (A2 fails)" in format_message(disturbances)


def test_interrupts_on_the_tester_s_cpu_are_named(tmp_path):
    chd = host_with_settings(isolated_cpus="1-3", nic_irq_cpus="eth0=0 eth1=2-3")
    (disturbances,) = find_disturbances([doubtful_trial(tmp_path, "sender_stalled")], chd, (1, 2))
    assert "interrupts of network cards go to CPUs of the tester: 2 (A3 fails)" in format_message(disturbances)
    assert "A2 fails" not in format_message(disturbances)


def test_where_nothing_fails_only_the_checks_are_named(tmp_path):
    chd = host_with_settings(isolated_cpus="1-3", nic_irq_cpus="eth0=0")
    (disturbances,) = find_disturbances([doubtful_trial(tmp_path, "sender_stalled")], chd, (1,))
    assert format_message(disturbances) == "In trial #0 the tester's sender stalled. See: nodrop host check A2 A3."


def test_without_a_descriptor_or_known_settings_nothing_is_claimed_of_the_host(tmp_path):
    for chd in (None, host()):
        (disturbances,) = find_disturbances([doubtful_trial(tmp_path, "held_up")], chd, (1,))
        assert "fails" not in format_message(disturbances)


def test_time_taken_by_the_hypervisor_below_is_the_other_machine_s(tmp_path):
    (disturbances,) = find_disturbances(
        [doubtful_trial(tmp_path, "cpu_steal")], host_with_settings(isolated_cpus=""), (1,)
    )
    assert format_message(disturbances).endswith("See: nodrop host check Y7, on the machine that runs this one.")
    assert "fails" not in format_message(disturbances)


def test_each_cause_is_told_once_however_many_trials_it_disturbed(tmp_path):
    trials = [doubtful_trial(tmp_path, "held_up", index) for index in range(3)]
    (disturbances,) = find_disturbances(trials, None, ())
    assert format_message(disturbances).startswith("In 3 trials the tester was stalled.")


def test_what_a_cpu_quota_caused_is_not_blamed_on_the_host(tmp_path):
    trial = doubtful_trial(tmp_path, "held_up").with_doubt(Doubt.suspect("cpu_throttled", throttled_s=1, cpu_count=1))
    assert find_disturbances([trial], host_with_settings(isolated_cpus=""), (1,)) == ()


def test_undisturbed_trials_say_nothing(tmp_path):
    assert find_disturbances([doubtful_trial(tmp_path, None)], host_with_settings(isolated_cpus=""), (1,)) == ()


def test_every_code_of_a_doubt_either_has_a_check_or_is_known_to_have_none():
    none = {
        "aborted",
        "burst_fast",
        "burst_rate",
        "burst_slow",
        "clock_jump",
        "cpu_throttled",
        "engine_died",
        "misdelivered",
        "offered_short",
        "stopped_for_late",
    }
    trex = {"counters_frozen", "generator_gone", "queue_full", "sender_drops", "tester_busy"}  # of another host
    assert set(DISTURBANCE_CAUSES) | none | trex == set(REASONS)
    protocol = json.loads((ROOT / "schema/engine.json").read_text(encoding="utf-8"))
    raised = {reason["properties"]["code"]["const"] for reason in protocol["reply"]["$defs"]["Doubt"]["oneOf"]}
    assert {"aborted", "sender_late"} < raised <= set(REASONS)


def test_checks_that_causes_name_exist():
    assert {check for cause in DISTURBANCE_CAUSES.values() for check in cause.checks} <= {
        rule.id for rule in CHECK_RULES
    }

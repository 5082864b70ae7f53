"""Calibrations: valid only for the setup that they were measured with, and reported with later results."""

from pathlib import Path
from typing import Any

import pytest
from tests.running import MILLION, Listener, make_environment, make_plan
from tests.suts import Step

from nodrop.config.load import build_config
from nodrop.model.calibration import Calibration
from nodrop.model.facts import PortFacts
from nodrop.model.result import RunResult
from nodrop.report.calibration import describe_calibration, describe_uncalibrated_loads
from nodrop.report.document.warnings import list_warnings
from nodrop.run import local_planning
from nodrop.run.execute import execute
from nodrop.stage.host_facts import read_host
from nodrop.store import calibration


def make_calibration(tmp_path: Path, limit_pps: float = 1e6) -> Calibration:
    """Return the calibration of a tester with this capacity."""
    built_plan = make_plan(tmp_path, goals={"NDR": 0.0}, sut="wire")
    result = calibration.derive_calibration(execute(built_plan, Listener(), make_environment(Step(limit_pps))))
    assert result
    return result


def measure_run(tmp_path: Path, existing: Calibration | None) -> RunResult:
    built_plan = make_plan(tmp_path).model_copy(update={"calibration": existing})
    return execute(built_plan, Listener(), make_environment(MILLION))


def test_a_calibration_is_the_load_without_loss_and_is_found_again_by_its_key_alone(tmp_path: Path) -> None:
    result, environment = make_calibration(tmp_path), {"XDG_STATE_HOME": str(tmp_path / "state")}
    assert 0.98e6 <= result.load_pps <= 1e6
    assert calibration.find(result.key, environment) is None
    path = calibration.save(result, environment)
    assert path.is_relative_to(tmp_path / "state/nodrop/calibrations")
    assert calibration.find(result.key, environment) == result
    assert calibration.find(result.key.model_copy(update={"frame_bytes": 1518}), environment) is None
    assert calibration.find(result.key.model_copy(update={"kernel": "another"}), environment) is None
    path.write_text("{}")
    assert calibration.find(result.key, environment) is None


def test_a_tester_moved_to_as_many_other_cpus_has_the_latest_calibration(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path / "state")}
    older = make_calibration(tmp_path)
    on_two = older.key.model_copy(update={"engine_cores": (6, 7)})
    on_another = older.key.model_copy(update={"engine_cores": (5,)})
    older = older.model_copy(update={"key": older.key.model_copy(update={"engine_cores": (3,)})})
    newer = older.model_copy(
        update={"key": older.key.model_copy(update={"engine_cores": (4,)}), "measured_at": "2999-01-01T00:00:00Z"}
    )
    for each in (older, newer):
        calibration.save(each, environment)
    assert calibration.find(older.key, environment) == older
    assert calibration.find(on_another, environment) == newer
    assert calibration.find(on_two, environment) is None


def test_without_a_state_directory_of_its_own_it_is_below_home(tmp_path: Path) -> None:
    path = calibration.save(make_calibration(tmp_path), {"HOME": str(tmp_path)})
    assert path.is_relative_to(tmp_path / ".local/state/nodrop")


def test_the_sut_between_the_ports_is_no_part_of_the_key_but_the_engines_cores_are(tmp_path: Path) -> None:
    stored, result = make_calibration(tmp_path), measure_run(tmp_path, None)
    assert result.facts
    assert calibration.build_key(result.plan, result.facts.host) == stored.key
    bound = result.plan.engine.model_copy(update={"cores": (7,)})
    other = result.plan.model_copy(update={"engine": bound})
    assert calibration.build_key(other, result.facts.host) != stored.key


def test_trials_above_what_the_tester_can_do_by_itself_are_told(tmp_path: Path) -> None:
    result = measure_run(tmp_path, make_calibration(tmp_path, 4e5))
    warning = describe_uncalibrated_loads(result)
    assert "bare wire" in warning
    assert warning in list_warnings(result)


def test_trials_within_it_and_runs_without_one_say_nothing_of_it(tmp_path: Path) -> None:
    assert describe_uncalibrated_loads(measure_run(tmp_path, make_calibration(tmp_path, 1e7))) == ""
    assert describe_uncalibrated_loads(measure_run(tmp_path, None)) == ""


def test_a_calibration_reads_as_a_sentence_with_its_floor(tmp_path: Path) -> None:
    times = {"latency_min_ns": 1800, "latency_p50_ns": 2200}
    text = describe_calibration(make_calibration(tmp_path).model_copy(update=times))
    assert "without loss up to" in text and "min 1.80 µs, median 2.20 µs" in text


@pytest.mark.parametrize(
    ("asked", "backend"),
    [
        ({}, "af_packet"),
        ({"sut": "xdp"}, "xdp_live"),
        *(({"engine__backend": name}, name) for name in ("af_packet", "af_xdp", "xdp_live")),
        ({"engine__backend": "dpdk"}, "dpdk+net_af_packet"),
        ({"engine__backend": "dpdk", "engine__dpdk__driver": "net_af_xdp"}, "dpdk+net_af_xdp"),
        (
            {"engine__backend": "dpdk", "sut": "wire", "engine__dpdk__devices": ["0000:03:00.0", "0000:03:00.1"]},
            "dpdk+0000:03:00.0+0000:03:00.1",
        ),
    ],
)
def test_the_key_names_the_back_end_taken_never_auto(tmp_path: Path, asked: dict[str, Any], backend: str) -> None:
    key = calibration.build_key(make_plan(tmp_path, **asked), read_host())
    assert key.backend == backend


def with_backend(result: RunResult, backend: str) -> RunResult:
    assert result.facts
    ports = tuple(PortFacts(interface=name, backend=backend, queue_slots=64) for name in ("tester0", "tester1"))
    return result.model_copy(update={"facts": result.facts.model_copy(update={"ports": ports})})


@pytest.mark.parametrize("backend", ["af_packet", "af_xdp", "xdp_live"])
def test_what_is_kept_is_of_the_back_end_that_the_ports_were_opened_with(tmp_path: Path, backend: str) -> None:
    built_plan = make_plan(tmp_path, goals={"NDR": 0.0}, sut="wire")
    actual = calibration.derive_calibration(
        with_backend(execute(built_plan, Listener(), make_environment(Step(4e5))), backend)
    )
    assert actual and actual.key.backend == backend
    environment = {"XDG_STATE_HOME": str(tmp_path / "state")}
    calibration.save(actual, environment)
    others = {"af_packet", "af_xdp", "xdp_live"} - {backend}
    for name in (backend, *others):
        requested = make_plan(tmp_path, engine__backend=name, engine__cores=list(built_plan.engine.cores) or "none")
        stored = calibration.find(calibration.build_key(requested, read_host()), environment)
        assert (stored is not None) == (name == backend)
    result = with_backend(measure_run(tmp_path, actual), backend)
    warning = describe_uncalibrated_loads(result)
    assert warning and warning in list_warnings(result)


def test_a_calibration_of_another_back_end_than_the_ports_turned_out_to_have_says_nothing(tmp_path: Path) -> None:
    result = with_backend(measure_run(tmp_path, make_calibration(tmp_path, 4e5)), "xdp_live")
    assert describe_uncalibrated_loads(result) == ""


@pytest.mark.parametrize("sut", ["vnf-l2", "bridge"])
def test_a_calibration_has_the_back_end_and_the_cpus_of_the_runs_it_is_for(
    sut: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_planning, "supports_xdp_live", lambda: True)
    keys = {"results_dir": str(tmp_path), "sut": sut}
    run_config, config = build_config((), keys), build_config((), keys | {"sut": "wire", "rate": "ndr"})
    (run,) = local_planning.make_plans(run_config, (0, 1))
    plan = local_planning.make_calibration_plan(config, run_config, (0, 1))
    assert plan.engine.backend == ("xdp_live" if sut == "vnf-l2" else "af_packet")
    assert calibration.build_key(plan, read_host()) == calibration.build_key(run, read_host())
    assert plan.lab.sut == "wire"

"""The procedure of instances: the numbers it tries, and what it reports of scripted runs."""

from collections.abc import Callable, Sequence

import pytest
from click.testing import CliRunner
from tests.factories import latency_summary, procedure_suite
from tests.recorded import record_run
from tests.suts import Step

from nodrop.cli import nodrop
from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.procedure import InstancesPlan
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import DirectionTimes, UndisturbedCounts, Validity, ValidityStatus
from nodrop.plan.procedures import plan_instances
from nodrop.procedure.instances import (
    InstancesProcedure,
    build_instances_report,
    list_cautions,
    make_settings,
    name_step,
)
from nodrop.report.document import build_document
from nodrop.report.document.repeat_screen import build_repeat_screen
from nodrop.report.markdown import render_markdown, render_markdown_sections

Run = Callable[..., RunResult]
FAST_NS, SLOW_NS = 1_000_000, 20_000_000


def plan(**keys: object) -> InstancesPlan:
    return plan_instances(build_config((), {f"instances.{key}": value for key, value in keys.items()}))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that makes a run with a number of instances, of which the last one may lose or delay frames."""
    recorded: dict[int, RunResult] = {}

    def record(count: int) -> RunResult:
        directory = tmp_path_factory.mktemp("results")
        settings = make_settings(plan(), count, is_confirmation=False)
        return record_run(directory, Step(1e9), **(settings | {"duration": "1s"}))

    def make(
        count: int,
        *,
        lost: int = 0,
        latency_ns: int | None = FAST_NS,
        verdict: ValidityStatus = ValidityStatus.VALID,
        is_confirmation: bool = False,
    ) -> RunResult:
        if count not in recorded:
            recorded[count] = record(count)
        result = recorded[count]
        trial = result.trials[0]
        *others, last = trial.streams
        streams = (*others, last.replace(lost_count=lost, received_count=last.offered_count - lost))
        times = tuple(
            DirectionTimes(
                tx_port=stream.tx_port,
                rx_port=stream.rx_port,
                stream_id=stream.stream_id,
                latency_every=1,
                latency=latency_summary([latency_ns if stream is streams[-1] else FAST_NS] * 10),
            )
            for stream in streams
            if latency_ns is not None
        )
        changed = trial.replace(streams=streams, directions=times, validity=Validity(verdict=verdict))
        variant = name_step(count, is_confirmation=is_confirmation)
        return result.replace(plan=result.plan.replace(variant=variant), trials=(changed,))

    return make


def carry_out(settings: InstancesPlan, run: Run, most: int, confirmed: int | None = None) -> list[RunResult]:
    """Carry out the procedure on a system on which so many instances meet the SLA, or fewer for a longer time."""
    procedure = InstancesProcedure(settings)
    results: list[RunResult] = []
    while request := procedure.request_run(results):
        count = request.settings["chains"]
        is_confirmation = "confirmation" in request.variant
        limit = most if confirmed is None or not is_confirmation else confirmed
        latency_ns = FAST_NS if count <= limit else SLOW_NS
        results.append(run(count, latency_ns=latency_ns, is_confirmation=is_confirmation))
    return results


def list_counts(results: Sequence[RunResult]) -> list[int]:
    return [result.plan.lab.chain_count for result in results]


def test_instances_double_and_are_bisected_and_confirmed(run: Run) -> None:
    results = carry_out(plan(), run, 8)
    assert list_counts(results) == [1, 2, 4, 8, 16, 12, 10, 9, 8]
    report = build_instances_report(plan(), results)
    assert (
        report.instances_within_sla == 8
        and report.text == "8 instances with 10.00 kpps each way meet the SLA; 9 do not."
    )


def test_a_number_that_a_longer_trial_refutes_is_not_the_result(run: Run) -> None:
    results = carry_out(plan(max=8), run, 6, confirmed=5)
    assert list_counts(results) == [1, 2, 4, 8, 6, 7, 6, 5, 5]
    assert build_instances_report(plan(max=8), results).instances_within_sla == 5


def test_the_most_instances_allowed_are_a_caution(run: Run) -> None:
    results = carry_out(plan(max=3), run, 99)
    assert list_counts(results) == [1, 2, 3, 3]
    report = build_instances_report(plan(max=3), results)
    assert report.text == "3 instances with 10.00 kpps each way meet the SLA, the most that instances.max allows."
    assert "no number of instances misses the SLA; write a higher instances.max" in next(list_cautions(report))


def test_not_even_one_instance_is_an_answer(run: Run) -> None:
    results = carry_out(plan(), run, 0)
    assert list_counts(results) == [1]
    assert build_instances_report(plan(), results).text == "One instance with 10.00 kpps each way misses the SLA."


@pytest.mark.parametrize(("lost", "misses"), [(0, 0), (20, 0), (21, 1)])
def test_each_instance_meets_the_sla_by_itself(run: Run, lost: int, misses: int) -> None:
    """The last of 4 instances loses frames of the 20,000 that it gets: 0.1 % of these, 0.025 % of all."""
    (step,) = build_instances_report(plan(), [run(4, lost=lost)]).steps
    assert (step.miss_count, step.lost_count, step.loss_ratio) == (misses, lost, lost / 20_000)


@pytest.mark.parametrize(
    ("verdict", "latency_ns", "counts"),
    [
        (ValidityStatus.VALID, SLOW_NS, True),
        (ValidityStatus.SUSPECT, FAST_NS, True),
        (ValidityStatus.SUSPECT, SLOW_NS, False),
        (ValidityStatus.INVALID, FAST_NS, False),
    ],
)
def test_a_run_counts_unless_tester_or_host_may_decide_it(
    run: Run, verdict: ValidityStatus, latency_ns: int, counts: bool
) -> None:
    result = run(2, verdict=verdict, latency_ns=latency_ns)
    report = build_instances_report(plan(), [result])
    assert len(report.steps) == counts and len(report.undecided) == (not counts)
    procedure = InstancesProcedure(plan())
    assert (procedure.request_run([result] * 4) is not None) == counts
    if not counts:
        assert "4 runs in a row do not count" in str(procedure.find_shortfall([result] * 4))


def test_a_run_that_sent_less_than_the_load_does_not_count(run: Run) -> None:
    result = run(2)
    trial = result.trials[0]
    streams = tuple(each.replace(offered_count=9800, received_count=9800) for each in trial.streams)
    report = build_instances_report(plan(), [result.replace(trials=(trial.replace(streams=streams),))])
    assert not report.steps and len(report.undecided) == 1


def test_a_loss_outside_the_disturbed_time_counts(run: Run) -> None:
    result = run(2, verdict=ValidityStatus.SUSPECT, lost=5000)
    counts = UndisturbedCounts(duration_s=0.5, offered_count=20_000, lost_count=2_000, unsent_count=0)
    trial = result.trials[0].replace(undisturbed_counts=counts)
    (step,) = build_instances_report(plan(), [result.replace(trials=(trial,))]).steps
    assert not step.meets_sla


def test_without_latency_the_sla_covers_losses(run: Run) -> None:
    report = build_instances_report(plan(), [run(2, latency_ns=None)])
    assert report.steps[0].meets_sla
    assert "the latency of the instances was not measured" in next(list_cautions(report))


def test_failed_runs_do_not_count(run: Run) -> None:
    failed = run(1).replace(status=Status.FAILED)
    assert build_instances_report(plan(), [failed]).text == "No number of instances was measured."


def test_the_report_has_a_row_for_each_run_and_a_chart(run: Run) -> None:
    results = carry_out(plan(), run, 2)
    suite = procedure_suite(plan(), results)
    document = build_document(results, suite)
    markdown = render_markdown(document)
    assert document.title == "Instances within an SLA"
    assert [(card.label, card.text) for card in document.cards] == [("Instances", "2"), ("Load", "40.00 kpps")]
    assert "| 3 | 1 s | missed | 1 | 60,000 | 0 | 0 % | 20.0 ms |" in markdown
    assert "V-DUR: the confirmation takes 20 s, less than 1 min 00 s" in markdown
    assert document.charts()[0].name == "instances"
    *_, answer = build_repeat_screen(suite, results)
    assert render_markdown_sections("", [answer]).rstrip().endswith("meet the SLA; 3 do not.")


def test_a_dry_run_prints_the_runs() -> None:
    done = CliRunner().invoke(nodrop, ["test", "instances", "--dry-run", "--latency", "1ms", "--max", "4"])
    assert done.output == (
        "runs of 5 s with 1 to 4 instances, 10.00 kpps each way, and one of 20 s with the most that meet the SLA: "
        "loss up to 0.1 %, p99 latency up to 1 ms\n"
    )


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("chains=2", "chains: 'nodrop test instances' sets it; remove it and use instances.max"),
        ("rate=1kpps", "rate: 'nodrop test instances' sets it; remove it and use instances.rate, for each instance"),
        ("sut=pool", "sut: a pool is one chain, whose instances share the load; write sut: vnf-l2"),
        ("instances.latency=0", "instances.latency"),
        ("instances.confirmation=2s", "instances.confirmation: 2 s is shorter than instances.duration (5 s)"),
        ("trial_events=[1s kill 0]", "trial_events: 'nodrop test instances' sets it; remove it and use instances.rate"),
    ],
)
def test_settings_that_contradict_the_procedure_are_refused(setting: str, message: str) -> None:
    done = CliRunner().invoke(nodrop, ["test", "instances", "--dry-run", "--set", setting])
    assert isinstance(done.exception, ConfigError) and message in str(done.exception)

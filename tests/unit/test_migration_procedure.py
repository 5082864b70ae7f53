"""The migration procedure: the runs that it requests, and what it reports of scripted migrations."""

from collections.abc import Callable, Sequence

import pytest
from click.testing import CliRunner
from tests.factories import procedure_suite, stream_counts, trial_result
from tests.recorded import record_run
from tests.suts import Step

from nodrop.cli import nodrop
from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.procedure import MigrationPlan
from nodrop.model.result import FIXED, RunResult, Status
from nodrop.model.trial import FrameTimes, LossRun, Series, WindowLatency, Windows
from nodrop.model.trial_event import TrialEvent
from nodrop.plan.procedures import plan_migration
from nodrop.procedure.migration import (
    AFTER,
    BEFORE,
    MIGRATION,
    MigrationProcedure,
    build_migration_report,
    list_cautions,
)
from nodrop.report.document import build_document
from nodrop.report.markdown import render_markdown

Run = Callable[..., RunResult]
PPS, MIGRATE_S, BACK_S, DURATION_S = 1000, 2.0, 5.0, 8.0
WINDOW_S = 0.25
MS = 1_000_000


def plan(**keys: object) -> MigrationPlan:
    settings = {f"migration.{key}": value for key, value in ({"rate": PPS, "compare": False} | keys).items()}
    return plan_migration(build_config((), {"sut": "pool", "repeat": 2, **settings}))


def lose(begin_s: float, count: int, delay_s: float = 0.0) -> LossRun:
    """Return a run of lost frames of a stream; the first frame after it may be late."""
    first = round(begin_s * PPS)
    last_ns = round((first - 1) / PPS * 1e9)
    next_ns = round((first + count) / PPS * 1e9)
    return LossRun(
        first_sequence=first,
        count=count,
        before=FrameTimes(sent_ns=last_ns, received_ns=last_ns),
        after=FrameTimes(sent_ns=next_ns, received_ns=next_ns + round(delay_s * 1e9)),
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that makes a trial with a migration there and back, whose stream loses frames."""
    recorded = record_run(tmp_path_factory.mktemp("results"), Step(1e6), rate="1kpps", duration="1s")

    def make(
        *losses: LossRun,
        repeat: int = 1,
        slow_s: Sequence[float] = (),
        silent_s: Sequence[float] = (),
        arrival_gap_s: float = 0.0,
        guest_pause_s: float | None = None,
    ) -> RunResult:
        lost_count = sum(each.count for each in losses)
        counts = stream_counts(round(PPS * DURATION_S))
        stream = counts.replace(
            loss_timeline=losses,
            lost_count=lost_count,
            received_count=counts.offered_count - lost_count,
            arrival_gap_max_ns=round(arrival_gap_s * 1e9),
        )
        number = round(DURATION_S / WINDOW_S)
        ends_s = tuple((position + 1) * WINDOW_S for position in range(number))
        latencies = tuple(900 if end_s - WINDOW_S in slow_s else 100 for end_s in ends_s)
        windows = Windows(
            series=(Series(tx_port=0, rx_port=1),),
            end_s=ends_s,
            offered_count=((250,) * number,),
            received_count=(tuple(0 if end_s - WINDOW_S in silent_s else 250 for end_s in ends_s),),
            lost_count=((0,) * number,),
            latency=(WindowLatency(count=(1,) * number, sum_ns=latencies, min_ns=latencies, max_ns=latencies),),
        )
        events = (
            TrialEvent(name="withdraw 0", begin_s=MIGRATE_S, end_s=MIGRATE_S + 0.5, guest_pause_s=guest_pause_s),
            TrialEvent(name="restore 0", begin_s=BACK_S, end_s=BACK_S + 0.25),
        )
        trial = trial_result(PPS, DURATION_S, phase=FIXED, streams=(stream,), windows=windows).replace(events=events)
        return recorded.replace(
            plan=recorded.plan.replace(variant=MIGRATION, repeat=repeat, repeat_count=2), trials=(trial,)
        )

    return make


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, float], RunResult]:
    """Return a function that makes a search before or after the migrations, on a system with a capacity."""

    def make(variant: str, capacity_pps: float) -> RunResult:
        result = record_run(tmp_path_factory.mktemp(variant), Step(capacity_pps))
        return result.replace(plan=result.plan.replace(variant=variant))

    return make


def test_a_migration_of_350_ms_loses_the_frames_of_that_time(run: Run) -> None:
    report = build_migration_report(plan(), [run(lose(2.0, 350)), run(lose(2.0, 350), repeat=2)])
    there, back, *_ = report.legs
    assert (there.lost_count, there.gap_count, there.is_back, back.is_back) == (350, 1, False, True)
    assert there.gap_s == pytest.approx(0.351) and there.loss_s == pytest.approx(0.35)
    assert there.duration_s == pytest.approx(0.5) and back.duration_s == pytest.approx(0.25)
    assert report.text == (
        "A migration interrupts the traffic for 351 ms (351 ms to 351 ms in 2 repeats); the way back loses no frame."
    )


def test_gaps_are_counted_singly_and_the_impaired_time_covers_them(run: Run) -> None:
    (there, back) = build_migration_report(plan(), [run(lose(2.0, 350), lose(3.35, 5))]).legs
    assert (there.gap_count, there.lost_count) == (2, 355)
    assert there.gap_s == pytest.approx(0.351)
    assert there.impaired_s == pytest.approx(1.355, abs=0.002) and back.impaired_s == 0


def test_slow_windows_are_impaired_time(run: Run) -> None:
    (there, back) = build_migration_report(plan(), [run(lose(2.0, 350), slow_s=(3.0, 3.25, 6.0))]).legs
    assert there.impaired_s == pytest.approx(1.5, abs=0.002)
    assert back.impaired_s == pytest.approx(0.25)


def test_a_guest_that_forwards_all_frames_late_interrupts_the_traffic(run: Run) -> None:
    (there, back) = build_migration_report(plan(), [run(silent_s=(2.25, 2.5, 6.0), arrival_gap_s=0.6)]).legs
    assert (there.gap_s, there.lost_count, back.gap_s) == (0.5, 0, 0.25)
    (there, _) = build_migration_report(plan(), [run(lose(2.0, 350), silent_s=(2.0,), arrival_gap_s=0.351)]).legs
    assert there.gap_s == pytest.approx(0.351)


def test_a_receiver_without_a_cpu_interrupts_no_traffic(run: Run) -> None:
    """Its windows are empty, but the frames arrived all the time."""
    (there, back) = build_migration_report(plan(), [run(silent_s=(2.25, 2.5), arrival_gap_s=0.001)]).legs
    assert (there.gap_s, back.gap_s) == (0, 0)


def test_searches_are_before_and_after_and_give_the_load(run: Run, search: Callable[[str, float], RunResult]) -> None:
    settings = plan(rate=None, compare=True)
    procedure = MigrationProcedure(settings)
    before = search(BEFORE, 1e6)
    results: list[RunResult] = []
    variants = []
    while request := procedure.request_run(results):
        variants.append((request.variant, request.repeat))
        if request.variant == MIGRATION:
            assert request.settings["rate"] == f"{report_load(settings, before) / 1e3:.9g}kpps"
            assert request.settings["trial_events"] == ["2s withdraw 0", "5s restore 0"]
            results.append(run(lose(2.0, 350), repeat=request.repeat))
        else:
            results.append(before if request.variant == BEFORE else search(AFTER, 9e5))
    assert variants == [(BEFORE, 1), (MIGRATION, 1), (MIGRATION, 2), (AFTER, 1)]
    report = build_migration_report(settings, results)
    assert [change.change_ratio for change in report.changes] == pytest.approx([-0.1, -0.1], abs=0.02)
    assert "; NDR changes by -" in report.text and procedure.find_shortfall(results) is None


def report_load(settings: MigrationPlan, before: RunResult) -> float:
    load_pps = build_migration_report(settings, [before]).load_pps
    assert load_pps == pytest.approx(5e5, rel=0.02)
    return load_pps


def test_failed_runs_end_the_procedure_after_four_in_a_row(run: Run) -> None:
    failed = run(lose(2.0, 350)).replace(status=Status.FAILED)
    procedure = MigrationProcedure(plan())
    request = procedure.request_run([failed] * 3)
    assert request and request.variant == MIGRATION
    assert procedure.request_run([failed] * 4) is None
    assert procedure.find_shortfall([failed] * 4) == "no trial with the events of a migration was completed"


def test_a_stream_that_stays_lost_is_the_answer(run: Run) -> None:
    lost = lose(2.0, 6000).replace(after=None)
    report = build_migration_report(plan(), [run(lost)])
    assert report.text == "After 1 of 2 migrations, not all streams arrived again."


def test_a_migration_without_loss_is_a_caution(run: Run) -> None:
    report = build_migration_report(plan(), [run()])
    assert report.text == "A migration loses no frame; the way back loses no frame."
    assert "no frame was lost: the events had no effect" in next(list_cautions(report))


def test_the_report_has_a_row_for_each_migration_and_a_time_line(
    run: Run, search: Callable[[str, float], RunResult]
) -> None:
    settings = plan(compare=True)
    results = [search(BEFORE, 1e6), run(lose(2.0, 350)), run(lose(2.0, 352), repeat=2), search(AFTER, 1e6)]
    suite = procedure_suite(settings, results)
    document = build_document(results, suite)
    markdown = render_markdown(document)
    assert document.title == "Migration"
    assert [(card.label, card.text) for card in document.cards] == [
        ("Interruption", "352 ms"),
        ("Impaired", "351 ms"),
        ("NDR after", "0 %"),
    ]
    assert "| 1 | there | 500 ms | 351 ms | 1 | 350 | 350 ms | 350 ms |" in markdown
    assert "| 2 | back | 250 ms | 0 | 0 | 0 | 0 | 0 |" in markdown
    assert "guest paused" not in markdown and "a hypervisor paused the guest is not known" in markdown
    assert "V-REP: 2 repeats, fewer than 5" in markdown and "Rates before and after" in markdown


def test_the_pause_of_the_guest_stands_beside_the_gap_of_the_traffic(run: Run) -> None:
    settings = plan()
    results = [run(lose(2.0, 350), guest_pause_s=0.2), run(lose(2.0, 350), repeat=2, guest_pause_s=0.21)]
    assert build_migration_report(settings, results).text == (
        "A migration interrupts the traffic for 351 ms (351 ms to 351 ms in 2 repeats), while the guest is paused for "
        "205 ms; the way back loses no frame."
    )
    markdown = render_markdown(build_document(results, procedure_suite(settings, results)))
    assert "| impaired | guest paused |" in markdown and "is not known" not in markdown
    assert "| 350 ms | 350 ms | 200 ms |" in markdown and "| 4 | back | 250 ms | 0 | 0 | 0 | 0 | 0 | - |" in markdown


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "5 runs of 8 s at 2.000 kpps: withdraw 0, restore 0\n"),
        (
            ("--set", "migration.compare=true", "--repeat", "1", "--set", "migration.back=[]"),
            "a search before and after, 1 run of 5 s at 2.000 kpps: withdraw 0\n",
        ),
        (
            ("--set", "migration.rate=null"),
            "a search before, 5 runs of 8 s at 50 % of the rate found: withdraw 0, restore 0\n",
        ),
    ],
)
def test_a_dry_run_prints_the_runs(flags: tuple[str, ...], text: str) -> None:
    assert CliRunner().invoke(nodrop, ["test", "migration", "--dry-run", *flags]).output == text


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("migration.migrate=[]", "migration.migrate: empty, so that nothing happens"),
        ("migration.migrate=[1s withdraw 0]", "migration.migrate: the first event is at 1 s, not at 0 s"),
        ("migration.back=[0s load 1kpps]", "migration.back: 'load 1kpps' changes the load, not the path"),
        ("rate=1kpps", "rate: the searches of a migration do not use 1kpps; write migration.rate"),
        (
            "trial_events=[1s kill 0]",
            "trial_events: 'nodrop test migration' sets it; remove it and use migration.migrate",
        ),
        ("sut=vnf-l2", "migration.migrate: '0s withdraw 0' changes an instance of a pool"),
    ],
)
def test_settings_that_measure_no_migration_are_refused(setting: str, message: str) -> None:
    done = CliRunner().invoke(nodrop, ["test", "migration", "--dry-run", "--set", setting])
    assert isinstance(done.exception, ConfigError) and message in str(done.exception)

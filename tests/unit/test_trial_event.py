"""Events of a trial: their texts, the plans that may have them, the loads, and their effects on streams."""

import pytest
from tests.factories import stream_counts, trial_result

from nodrop.analysis.event_effects import EventEffect, compute_event_effects, count_earlier_losses
from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.trial import FrameTimes, LossRun, StreamCounts
from nodrop.model.trial_event import LibvirtMigration, PlannedEvent, TrialEvent, parse_event
from nodrop.plan import build_plan
from nodrop.report.document.events import build_event_tables


def at_ms(sent_ms: float, delay_ms: float = 0.1) -> FrameTimes:
    return FrameTimes(sent_ns=round(sent_ms * 1e6), received_ns=round((sent_ms + delay_ms) * 1e6))


def lose(stream_id: int, *runs: tuple[float | None, int, float | None]) -> StreamCounts:
    """Return a stream with these runs: send time of the frame before in ms, lost frames, of the frame after."""
    timeline = tuple(
        LossRun(
            first_sequence=0,
            count=count,
            before=None if before is None else at_ms(before),
            after=None if after is None else at_ms(after),
        )
        for before, count, after in runs
    )
    return stream_counts(5_000, stream_id=stream_id).replace(loss_timeline=timeline)


def compute_effects(events: tuple[TrialEvent, ...], *streams: StreamCounts) -> tuple[EventEffect, ...]:
    return compute_event_effects(trial_result(1e3, 5.0).replace(streams=streams, events=events))


KILL = TrialEvent(name="kill 0", begin_s=1.0, end_s=1.001)
START = TrialEvent(name="start 0", begin_s=3.0, end_s=3.2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3s kill 0", PlannedEvent(at_s=3.0, action="kill", instance=0)),
        (" 250ms  start 12 ", PlannedEvent(at_s=0.25, action="start", instance=12)),
        ("3s load 20kpps", PlannedEvent(at_s=3.0, action="load", rate="20kpps")),
        ("0s streams 20", PlannedEvent(at_s=0.0, action="streams", stream_count=20)),
        ("1 command tc -s 'qdisc show'", PlannedEvent(at_s=1.0, action="command", command=("tc", "-s", "qdisc show"))),
    ],
)
def test_an_event_is_a_time_an_action_and_its_object(text: str, expected: PlannedEvent) -> None:
    assert parse_event(text) == expected


MIGRATION = LibvirtMigration(domain="vnf", from_uri="qemu:///system", to_uri="qemu+ssh://b/system")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0s migrate vnf qemu:///system qemu+ssh://b/system", MIGRATION),
        (
            "0s migrate 'vnf 1' qemu:///system qemu+ssh://b/system --p2p --bandwidth 100",
            MIGRATION.replace(domain="vnf 1", options=("--p2p", "--bandwidth", "100")),
        ),
    ],
)
def test_a_migration_has_a_domain_and_two_hosts(text: str, expected: LibvirtMigration) -> None:
    event = parse_event(text)
    assert event.migration == expected and event.runs_program
    assert event.name == f"migrate {expected.domain} to qemu+ssh://b/system"
    assert event.write(0.0) == text


@pytest.mark.parametrize("text", ["0s migrate vnf", "0s migrate vnf a", "0s migrate --live vnf a b"])
def test_a_migration_without_both_hosts_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"a domain and two URIs of libvirt, .* write for example 0s migrate vnf"):
        parse_event(text)


def test_a_quotation_without_an_end_is_refused() -> None:
    for text in ("0s command echo 'a", "0s migrate 'vnf a b"):
        with pytest.raises(ValueError, match=r"a quotation has no end; write a quotation mark at both ends"):
            parse_event(text)


@pytest.mark.parametrize(
    "text",
    ["kill 0", "3s kill", "3s kill first", "3s melt 0", "soon kill 0", "-1s kill 0", "3s load ndr", "3s streams 0", 3],
)
def test_other_texts_are_refused_with_the_forms(text: object) -> None:
    with pytest.raises(ValueError, match=r"is not|is negative"):
        parse_event(text)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"rate": "ndr"}, "a search has no events"),
        ({"duration": "3s"}, "'3s kill 0' is after the trial"),
        ({"sut": "vnf-l2"}, "changes an instance of a pool; write sut: pool"),
        ({"trial_events": ["3s kill 2"]}, "the pool has instances 0 to 1"),
    ],
)
def test_events_that_the_trial_cannot_have_are_refused(keys: dict[str, object], message: str) -> None:
    config = {"sut": "pool", "rate": "2kpps", "trial_events": ["3s kill 0"]}
    with pytest.raises(ConfigError, match=f"trial_events: .*{message}"):
        build_plan(build_config((), config | keys))


LOAD_KEYS = {"sut": "bridge", "rate": "3kpps", "bidirectional": False, "traffic": {"streams": 3}, "flow_count": 3}


def plan_loads(*events: str, **keys: object) -> list[tuple[float, tuple[float, ...]]]:
    """Return begin and loads of each phase of a trial of 10 s."""
    plan = build_plan(build_config((), LOAD_KEYS | {"trial_events": list(events)} | keys))
    assert plan.fixed and plan.engine.backend == "af_packet"
    return [(phase.begin_s, phase.loads_pps) for phase in plan.fixed.load_phases]


def test_events_change_the_load_of_all_streams_or_the_number_of_those_that_send() -> None:
    events = ("0s streams 2", "4s load 6kpps", "2s streams 3", "6s load 1500pps", "6s streams 1")
    assert plan_loads(*events) == [
        (0.0, (1000.0, 1000.0, 0.0)),
        (2.0, (1000.0, 1000.0, 1000.0)),
        (4.0, (2000.0, 2000.0, 2000.0)),
        (6.0, (500.0, 0.0, 0.0)),
    ]
    both_ways = plan_loads("0s streams 2", "2s streams 3", bidirectional=True, flow_count=6)
    assert [loads for _, loads in both_ways] == [(500.0, 500.0, 0.0) * 2, (500.0,) * 6]


@pytest.mark.parametrize(
    ("events", "keys", "message"),
    [
        (["2s load 2Gpps"], {}, "'2s load 2Gpps': above the line rate"),
        (["2s streams 4"], {}, "each direction has 3; write a smaller number, or more traffic.streams"),
        (["0s streams 1", "2s streams 2"], {}, "stream 3 of each direction never sends; write traffic.streams: 2"),
        (["2s load 2kpps"], {"pattern": {"kind": "stair"}}, r"the load, which varies already \(pattern.kind: stair\)"),
        (["12s load 2kpps"], {}, "'12s load 2kpps' is after the trial"),
    ],
)
def test_loads_that_the_trial_cannot_have_are_refused(events: list[str], keys: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=f"trial_events: .*{message}"):
        plan_loads(*events, **keys)


def test_a_load_that_changes_is_sent_from_user_space() -> None:
    keys = {"sut": "xdp", "rate": "20kpps", "duration": "4s", "engine": {"cores": [0]}}
    assert build_plan(build_config((), keys)).engine.backend == "xdp_live"
    changed = build_plan(build_config((), keys | {"trial_events": ["2s load 10kpps"]}))
    assert changed.engine.backend == "af_packet"


def test_streams_recover_one_after_the_other() -> None:
    """ETSI GS NFV-PER 001 C.1.2.2: t2 - t1 is the time of the first stream, t4 - t1 that of the last."""
    streams = lose(0, (999.0, 30, 1030.0)), lose(1), lose(2, (998.0, 50, 1050.0))
    (effect,) = compute_effects((KILL,), *streams)
    assert [each.stream.stream_id for each in effect.streams] == [0, 2]
    assert (effect.lost_count, effect.is_recovered) == (80, True)
    assert effect.first_s == pytest.approx(0.0301) and effect.convergence_s == pytest.approx(0.0501)
    assert effect.gap_s == pytest.approx(0.052)


def test_losses_belong_to_the_event_in_their_time_or_to_the_one_before() -> None:
    streams = lose(0, (10.0, 1, 12.0), (999.0, 20, 1020.0), (1500.0, 2, 1503.0), (2999.0, 7, 3007.0))
    kill, start = compute_effects((KILL, START), streams)
    assert (kill.lost_count, start.lost_count) == (22, 7)
    assert kill.convergence_s == pytest.approx(0.5031)
    assert kill.gap_s == pytest.approx(0.021)


def test_losses_that_begin_in_a_long_event_belong_to_it_however_long_they_last() -> None:
    migrate = TrialEvent(name="migrate vnf to b", begin_s=1.0, end_s=2.5)
    there, back = compute_effects((migrate, START), lose(0, (2400.0, 2590, None)))
    assert (there.lost_count, there.is_recovered, back.lost_count) == (2590, False, 0)


def test_frames_that_arrive_late_do_not_shorten_the_gap() -> None:
    """The guest held the frame before the losses for 95 ms, and forwarded it 5 ms before the next one."""
    run = LossRun(first_sequence=1000, count=99, before=at_ms(999.0, 95.1), after=at_ms(1099.0, 0.1))
    stream = stream_counts(5_000, stream_id=0).replace(loss_timeline=(run,))
    (effect,) = compute_effects((KILL,), stream)
    assert effect.gap_s == pytest.approx(0.1)


def test_losses_before_the_first_event_stand_in_a_row_of_their_own() -> None:
    streams = lose(0, (10.0, 3, 14.0), (999.0, 20, 1020.0)), lose(1, (20.0, 4, 25.0))
    trial = trial_result(1e3, 5.0).replace(streams=streams, events=(START, KILL))
    assert count_earlier_losses(trial) == 7
    (table,) = build_event_tables(trial)
    assert [[cell.text for cell in row][:3] for row in table.rows] == [
        ["before any event", "-", "7"],
        ["kill 0", "1 s", "20"],
        ["start 0", "3 s", "0"],
    ]


def test_a_stream_that_does_not_recover_has_no_convergence() -> None:
    (effect,) = compute_effects((KILL,), lose(0, (999.0, 4000, None)), lose(1, (999.0, 9, 1009.0)))
    assert not effect.is_recovered and effect.convergence_s is None
    assert effect.first_s == pytest.approx(0.0091)
    assert effect.gap_s == pytest.approx(5.0 - 0.9991)


def test_an_event_without_losses_costs_nothing() -> None:
    (effect,) = compute_effects((KILL,), lose(0))
    assert effect == EventEffect(KILL, ())
    assert (effect.lost_count, effect.first_s, effect.convergence_s, effect.gap_s) == (0, None, None, None)

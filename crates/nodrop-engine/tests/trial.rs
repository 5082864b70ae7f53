//! Complete trials over in-memory ports: injected faults are counted exactly.
#![allow(clippy::unwrap_used, missing_docs)] // clippy.toml excuses #[test] functions, not what they call

mod worker_clock;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use nodrop_engine::{Engine, EngineError, Port, Stream};
use nodrop_model::{
    DoubtReason, LoadChange, LoadPattern, StopClause, StopRule, StreamCounts, StreamSpec, TrialReply, TrialRequest,
    Validity, Window,
};
use nodrop_port::clock::{Clock, SystemClock};
use nodrop_port::fault::{FaultRx, Faults};
use nodrop_port::loopback::{self, LoopbackRx, LoopbackTx};
use nodrop_port::{Fill, PortError, Receive, ReceivedFrame, Slot, Transmit};
use nodrop_wire::Frames;
use worker_clock::WorkerClock;

const QUEUE_SLOTS: u32 = 1 << 16;

fn stream(stream_id: u16, tx_port: usize, rx_port: usize) -> Stream {
    let frames = Frames::new(&StreamSpec::udp(stream_id, tx_port, rx_port, 64, 16));
    Stream { frames: frames.unwrap(), tx_port, rx_port }
}

fn request(load_pps: f64, duration_s: f64) -> TrialRequest {
    TrialRequest {
        trial_id: 1,
        loads_pps: vec![load_pps; 2],
        duration_s,
        pattern: LoadPattern::Flat,
        stop: None,
        window_s: 0.02,
        loss_check_s: 0.008,
        catch_up_max_s: 60.0,
        latency_every: None,
        loss_run_max: 0,
        load_changes: Vec::new(),
        window_latency: false,
        histograms: true,
        capture: None,
        sut_pids: Vec::new(),
        disturbances: None,
        progress_s: 0.0,
        burst: false,
    }
}

type FaultyEngine = Engine<LoopbackTx, FaultRx<LoopbackRx>, WorkerClock>;

/// Create an engine with two connected ports and faults on port 1's arrivals.
fn connected(faults: Faults, queue_slots: u32, cores: Vec<usize>) -> FaultyEngine {
    let [near, far] = loopback::pair(queue_slots);
    let ports = vec![
        Port { name: "near".to_owned(), tx: near.0, rx: FaultRx::new(near.1, Faults::default()) },
        Port { name: "far".to_owned(), tx: far.0, rx: FaultRx::new(far.1, faults) },
    ];
    Engine::new(ports, vec![stream(10, 0, 1), stream(20, 1, 0)], cores, WorkerClock::new()).unwrap()
}

fn measure<T: Transmit, R: Receive, C: Clock>(engine: &mut Engine<T, R, C>, request: &TrialRequest) -> TrialReply {
    engine.trial(request, &AtomicBool::new(false), |_| ()).unwrap()
}

#[test]
fn without_faults_every_frame_is_counted_once_in_both_directions() {
    for threads in [vec![], vec![0], vec![0, 0], vec![0, 0, 0, 0]] {
        let mut engine = connected(Faults::default(), QUEUE_SLOTS, threads.clone());
        let reply = measure(&mut engine, &request(20_000.0, 0.2));
        for stream in &reply.streams {
            // With several threads, a busy machine may stall the sender's thread while other threads read the clock,
            // even for the entire trial.
            assert_eq!(stream.intended_count, 4000);
            assert!(stream.offered_count == 4000 || threads.len() > 1);
            assert_eq!(stream.received_count, stream.offered_count);
            assert_eq!((stream.lost_count, stream.duplicate_count, stream.out_of_order_count), (0, 0, 0));
            assert!(stream.loss_runs.is_none() && stream.reordering.is_none());
        }
        for (direction, stream) in
            reply.directions.iter().zip(&reply.streams).filter(|(_, each)| each.offered_count > 1)
        {
            let summary = direction.latency.as_ref().unwrap();
            let latency = &summary.latency;
            assert_eq!((latency.count, direction.stream_id), (stream.received_count, Some(stream.stream_id)));
            assert_eq!(summary.ipdv.as_ref().unwrap().count, stream.received_count - 1);
            assert!(latency.min_ns <= latency.p50_ns && latency.p50_ns <= latency.max_ns && summary.hdr.is_some());
        }
        for (sender, stream) in reply.senders.iter().zip(&reply.streams).filter(|(_, each)| each.offered_count > 1) {
            assert_eq!(sender.lateness.as_ref().unwrap().count, stream.offered_count);
            assert_eq!(sender.gaps.as_ref().unwrap().count, stream.offered_count - 1);
        }
    }
}

#[test]
fn planted_faults_are_counted_exactly_and_on_the_right_stream() {
    let faults = Faults { drop_every: 100, repeat_every: 33, delay_every: 70, ..Faults::default() };
    let mut engine = connected(faults, QUEUE_SLOTS, vec![]);
    let reply = measure(&mut engine, &request(20_000.0, 0.35));
    let faulty = &reply.streams[0];
    let last = faulty.offered_count;
    let count = |hit: &dyn Fn(u64) -> bool| (1..=last).filter(|n| hit(*n)).count() as u64;
    let dropped = |n: u64| n.is_multiple_of(100);
    let delayed = |n: u64| n.is_multiple_of(70) && !dropped(n);
    assert_eq!(last, 7000);
    // A last frame that is delayed for a successor that never arrives is lost too.
    assert_eq!(faulty.lost_count, count(&dropped) + u64::from(delayed(last)));
    assert_eq!(faulty.duplicate_count, count(&|n| n.is_multiple_of(33) && !dropped(n) && !delayed(n)));
    assert_eq!(faulty.out_of_order_count, count(&|n| delayed(n) && n < last));
    let reordering = faulty.reordering.as_ref().unwrap();
    assert_eq!((reordering.count, reordering.extent_max), (faulty.out_of_order_count, 1));
    let runs = faulty.loss_runs.unwrap();
    assert_eq!((runs.count, runs.longest), (faulty.lost_count, 1));
    assert_eq!(reply.streams[1].lost_count, 0);
}

#[test]
fn planted_corruption_is_counted_exactly_and_its_frames_are_lost() {
    let mut engine = connected(Faults { corrupt_every: 50, ..Faults::default() }, QUEUE_SLOTS, vec![]);
    let reply = measure(&mut engine, &request(20_000.0, 0.2));
    assert_eq!((reply.streams[0].offered_count, reply.corrupted_count), (4000, 80));
    assert_eq!(reply.streams[0].lost_count, reply.corrupted_count);
    assert_eq!((reply.streams[0].duplicate_count, reply.streams[1].lost_count), (0, 0));
}

#[test]
fn planted_reordering_is_known_by_its_extent() {
    let faults = Faults { delay_every: 100, delay_frames: 7, ..Faults::default() };
    let reply = measure(&mut connected(faults, QUEUE_SLOTS, vec![]), &request(20_000.0, 0.2));
    let reordering = reply.streams[0].reordering.clone().unwrap();
    // The 4000th frame is delayed for frames that never arrive.
    assert_eq!((reordering.count, reordering.extent_max, reordering.extent_mean), (39, 7, 7.0));
    assert_eq!(reordering.extent_counts, [0, 0, 39]);
}

/// Delays every hundredth frame by a fixed time.
struct DelayRx<R> {
    inner: R,
    clock: WorkerClock,
    delay_ns: u64,
    seen: u64,
    delayed: VecDeque<(u64, Vec<u8>, u64)>,
}

impl<R: Receive> Receive for DelayRx<R> {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        let now_ns = self.clock.steady_ns();
        let due = self.delayed.iter().take_while(|(until, ..)| *until <= now_ns).count();
        for (_, bytes, time_ns) in self.delayed.drain(..due) {
            sink(ReceivedFrame { bytes: &bytes, time_ns });
        }
        let Self { inner, delay_ns, seen, delayed, .. } = self;
        inner.receive(budget, |frame| {
            *seen += 1;
            if seen.is_multiple_of(100) {
                delayed.push_back((now_ns + *delay_ns, frame.bytes.to_vec(), frame.time_ns));
            } else {
                sink(frame);
            }
        })
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        self.inner.take_drop_count()
    }

    fn queue_slots(&self) -> u32 {
        self.inner.queue_slots()
    }
}

/// A frame 50 ms late counts as lost, and a trial stopped for that reason is invalid.
#[test]
fn a_trial_stopped_for_frames_that_were_only_late_is_invalid_and_the_next_waits_longer() {
    let [near, far] = loopback::pair(QUEUE_SLOTS);
    let clock = WorkerClock::new();
    let delay = |rx, delay_ns| DelayRx { inner: rx, clock: clock.clone(), delay_ns, seen: 0, delayed: VecDeque::new() };
    let ports = vec![
        Port { name: "near".to_owned(), tx: near.0, rx: delay(near.1, 0) },
        Port { name: "far".to_owned(), tx: far.0, rx: delay(far.1, 50_000_000) },
    ];
    let mut engine = Engine::new(ports, vec![stream(10, 0, 1)], vec![], clock).unwrap();
    let stop = Some(StopRule { lost_count: Some(0), ..StopRule::default() });
    let request = TrialRequest { loads_pps: vec![5000.0], stop, ..request(1.0, 0.5) };
    let replies: Vec<TrialReply> = (0..12).map(|_| measure(&mut engine, &request)).collect();
    for reply in &replies {
        let doubted = reply.doubts.iter().any(|doubt| matches!(doubt.reason, DoubtReason::StoppedForLate { .. }));
        assert_eq!((doubted, reply.streams[0].lost_count), (reply.stopped_early, 0));
    }
    // A conductor that is itself stalled may miss that a frame is late, and then has no reason to wait longer.
    assert!(replies.iter().any(|reply| reply.stopped_early) && !replies[11].stopped_early);
}

#[test]
fn the_windows_add_up_to_the_counts() {
    for faults in [Faults { drop_every: 10, ..Faults::default() }, Faults { delay_every: 3, ..Faults::default() }] {
        let mut engine = connected(faults, QUEUE_SLOTS, vec![]);
        let mut reported: Vec<Window> = Vec::new();
        let reply =
            engine.trial(&request(10_000.0, 0.3), &AtomicBool::new(false), |window| reported.push(window)).unwrap();
        for (position, stream) in reply.streams.iter().enumerate() {
            assert_eq!(reply.windows.offered_count[position].iter().sum::<u64>(), stream.offered_count);
            assert_eq!(reply.windows.received_count[position].iter().sum::<u64>(), stream.received_count);
            assert_eq!(reply.windows.lost_count[position].iter().sum::<u64>(), stream.lost_count);
        }
        assert!(reply.windows.end_s.len() >= 5 && reply.windows.end_s.is_sorted());
        // The last window is merged with earlier ones that began less than half a window before the end of sending.
        let (_, before) = reported.split_last().unwrap();
        let remaining = before.iter().filter(|window| reply.duration_s - window.elapsed_s >= 0.01).count();
        assert_eq!(reply.windows.end_s.len(), remaining + 1);
        assert!(reported.is_sorted_by_key(|window| window.lost_count));
    }
}

#[test]
fn a_lost_frame_is_found_in_the_window_in_which_it_was_overtaken() {
    // The 2100th frame is sent 0.21 s after the start, the window ends at 0.22 s.
    let mut engine = connected(Faults { drop_every: 2100, delay_every: 7, ..Faults::default() }, QUEUE_SLOTS, vec![]);
    let mut confirmed_s = Vec::new();
    let on_window = |window: Window| confirmed_s.extend((window.lost_count == 1).then_some(window.elapsed_s));
    let reply = engine.trial(&request(10_000.0, 0.4), &AtomicBool::new(false), on_window).unwrap();
    let position = reply.windows.lost_count[0].iter().position(|count| *count == 1).unwrap();
    let end_s = reply.windows.end_s[position];
    assert!((0.21..0.31).contains(&end_s), "{end_s}");
    assert!(reply.windows.end_s[position..=position + 1].contains(&confirmed_s[0]), "{confirmed_s:?}");
    assert_eq!(reply.windows.lost_count[1].iter().sum::<u64>(), 0);
}

#[test]
fn the_last_window_has_a_fair_share_of_the_sending() {
    for stop in [None, Some(StopRule { elapsed_s: Some(0.2), ..StopRule::default() })] {
        let mut engine = connected(Faults { drop_every: 2, ..Faults::default() }, QUEUE_SLOTS, vec![]);
        let reply = measure(&mut engine, &TrialRequest { stop, ..request(10_000.0, 0.4) });
        let begin_s = reply.windows.end_s[reply.windows.end_s.len() - 2];
        assert!(reply.duration_s - begin_s >= 0.01, "{:?} of {}", reply.windows.end_s, reply.duration_s);
    }
}

/// Run a trial of up to 20 s with 1 frame in 1000 lost, at 10 000 frames per second: the first loss is at 0.1 s.
fn measure_until(rule: StopRule) -> TrialReply {
    let mut engine = connected(Faults { drop_every: 1000, ..Faults::default() }, QUEUE_SLOTS, vec![]);
    measure(&mut engine, &TrialRequest { stop: Some(rule), ..request(10_000.0, 20.0) })
}

#[test]
fn each_clause_of_a_stop_rule_ends_the_trial_in_its_time() {
    let rule = StopRule::default;
    // Confirmation takes up to two loss checks of 0.008 s, more on a busy machine.
    for (rule, clause, ends_s) in [
        (StopRule { lost_count: Some(3), ..rule() }, StopClause::LostCount, 0.4),
        (StopRule { after_loss_s: Some(0.2), ..rule() }, StopClause::AfterLoss, 0.3),
        (StopRule { elapsed_s: Some(0.25), ..rule() }, StopClause::Elapsed, 0.25),
        (StopRule { quiet_s: Some(0.25), quiet_lost_count: 9, ..rule() }, StopClause::Quiet, 0.25),
    ] {
        let reply = measure_until(rule);
        assert_eq!((reply.stopped_early, reply.stopped_by), (true, Some(clause)));
        assert!((ends_s..ends_s + 0.5).contains(&reply.duration_s), "{clause:?}: {}", reply.duration_s);
    }
}

/// RFC 2544 section 23 waits two seconds for frames in flight.
#[test]
fn a_dead_path_is_seen_two_seconds_later() {
    let mut engine = connected(Faults { drop_every: 1, ..Faults::default() }, QUEUE_SLOTS, vec![]);
    let rule = StopRule { lost_count: Some(100), ..StopRule::default() };
    let reply = measure(&mut engine, &TrialRequest { stop: Some(rule), ..request(1000.0, 20.0) });
    assert_eq!(reply.stopped_by, Some(StopClause::LostCount));
    assert!((2.1..4.0).contains(&reply.duration_s), "{}", reply.duration_s);
    assert_eq!(reply.windows.lost_count[0].iter().sum::<u64>(), reply.streams[0].offered_count);
}

#[test]
fn a_trial_that_was_stopped_is_an_ordinary_shorter_one() {
    let reply = measure_until(StopRule { elapsed_s: Some(0.3), ..StopRule::default() });
    for stream in &reply.streams {
        assert_eq!(stream.intended_count, (10_000.0 * reply.duration_s).ceil() as u64);
        assert!(stream.offered_count <= stream.intended_count && stream.offered_count > 2000);
    }
    assert_eq!(reply.streams[0].lost_count, reply.streams[0].offered_count / 1000);
    assert_eq!(reply.windows.lost_count[0].iter().sum::<u64>(), reply.streams[0].lost_count);
    assert!(!reply.doubts.iter().any(|doubt| doubt.validity == Validity::Invalid));
}

#[test]
fn a_stop_rule_whose_clauses_are_not_met_changes_nothing() {
    let rule = StopRule {
        lost_count: Some(500),
        after_loss_s: Some(1.0),
        elapsed_s: Some(1.0),
        quiet_s: Some(0.2),
        quiet_lost_count: 1,
    };
    let mut engine = connected(Faults { drop_every: 10, ..Faults::default() }, QUEUE_SLOTS, vec![]);
    let reply = measure(&mut engine, &TrialRequest { stop: Some(rule), ..request(10_000.0, 0.3) });
    assert_eq!((reply.stopped_early, reply.stopped_by, reply.duration_s), (false, None, 0.3));
    assert_eq!(reply.streams[0].lost_count, reply.streams[0].offered_count / 10);
    assert!(reply.streams[0].lost_count > 200);
}

#[test]
fn a_request_to_stop_makes_the_trial_invalid_and_keeps_its_counts() {
    let mut engine = connected(Faults::default(), QUEUE_SLOTS, vec![]);
    let stop = AtomicBool::new(false);
    let reply = engine.trial(&request(1000.0, 20.0), &stop, |_| stop.store(true, SeqCst)).unwrap();
    assert!(reply.stopped_early && reply.stopped_by.is_none() && reply.duration_s < 5.0);
    assert!(
        reply
            .doubts
            .iter()
            .any(|doubt| matches!(doubt.reason, DoubtReason::Aborted { .. }) && doubt.validity == Validity::Invalid)
    );
    assert!(reply.streams[0].received_count > 0);
}

#[test]
fn frames_dropped_by_the_testers_own_queue_make_the_trial_invalid() {
    let mut engine = connected(Faults::default(), 0, vec![]);
    let reply = measure(&mut engine, &request(1000.0, 0.1));
    assert!(reply.tester_drop_count > 100);
    let offered: u64 = reply.streams.iter().map(|stream| stream.offered_count).sum();
    assert_eq!(reply.tester_drop_count, offered);
    assert!(reply.doubts.iter().any(|doubt| matches!(doubt.reason, DoubtReason::TesterDrops { .. }) && doubt.validity == Validity::Invalid));
}

#[test]
fn frames_of_an_earlier_trial_are_not_counted_in_this_one() {
    let [near, far] = loopback::pair(QUEUE_SLOTS);
    let ports = vec![
        Port { name: "near".to_owned(), tx: near.0, rx: near.1 },
        Port { name: "far".to_owned(), tx: far.0, rx: far.1 },
    ];
    let mut engine = Engine::new(ports, vec![stream(10, 0, 1), stream(20, 1, 0)], vec![], WorkerClock::new()).unwrap();
    for _ in 0..3 {
        let reply = measure(&mut engine, &request(5000.0, 0.1));
        for stream in &reply.streams {
            assert_eq!((stream.received_count, stream.duplicate_count), (stream.offered_count, 0));
        }
    }
}

/// A port that accepts only every thousandth batch, and fails after a number of calls.
struct FailingTx {
    calls: u64,
    breaks_after: u64,
}

impl Transmit for FailingTx {
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        self.calls += 1;
        if self.calls > self.breaks_after {
            return Err(PortError::Request { port: "near".to_owned(), message: "unplugged".to_owned() });
        }
        let mut bytes = vec![0; frame_len_max];
        for position in 0..count {
            fill.fill(position, Slot { bytes: &mut bytes, tag: &mut { u32::MAX } });
        }
        Ok(if self.calls.is_multiple_of(1000) { count } else { 0 })
    }
}

fn failing_engine(breaks_after: u64) -> Engine<FailingTx, LoopbackRx, SystemClock> {
    let [near, _] = loopback::pair(QUEUE_SLOTS);
    let ports = vec![Port { name: "near".to_owned(), tx: FailingTx { calls: 0, breaks_after }, rx: near.1 }];
    Engine::new(ports, vec![stream(10, 0, 0)], vec![], SystemClock).unwrap()
}

#[test]
fn frames_a_port_does_not_take_are_reported_as_not_sent() {
    let request = TrialRequest { loads_pps: vec![1e6], ..request(1e6, 0.1) };
    let reply = measure(&mut failing_engine(u64::MAX), &request);
    assert!(reply.streams[0].offered_count < reply.streams[0].intended_count);
    assert_eq!(reply.streams[0].intended_count, 100_000);
    assert!(
        reply.doubts.iter().any(
            |doubt| matches!(doubt.reason, DoubtReason::OfferedShort { .. }) && doubt.validity == Validity::Suspect
        )
    );
}

#[test]
fn overdue_frames_are_not_sent_and_the_stall_is_reported() {
    let mut engine = connected(Faults::default(), QUEUE_SLOTS, vec![]);
    let request = TrialRequest { catch_up_max_s: 0.0, ..request(50_000.0, 0.2) };
    let reply = measure(&mut engine, &request);
    for (sender, stream) in reply.senders.iter().zip(&reply.streams) {
        let short = stream.intended_count - stream.offered_count;
        assert!(short > 0 && sender.unsent_count <= short && sender.stalls.is_some());
        assert_eq!(stream.received_count, stream.offered_count);
    }
    assert!(
        reply
            .doubts
            .iter()
            .any(|doubt| matches!(doubt.reason, DoubtReason::SenderStalled { .. })
                && doubt.validity == Validity::Suspect)
    );
}

/// A port whose calls stall from one number of frames on: once, or each time.
struct StalledTx {
    frames: usize,
    stalls_after: usize,
    stall: Duration,
    once: bool,
}

impl Transmit for StalledTx {
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        let mut bytes = vec![0; frame_len_max];
        for position in 0..count {
            fill.fill(position, Slot { bytes: &mut bytes, tag: &mut { u32::MAX } });
        }
        let has_stalled = self.frames > self.stalls_after;
        if self.frames + count > self.stalls_after && !(has_stalled && self.once) {
            std::thread::sleep(self.stall);
        }
        self.frames += count;
        Ok(count)
    }
}

fn stalled_engine(stalls_after: usize, stall_ms: u64, once: bool) -> Engine<StalledTx, LoopbackRx, SystemClock> {
    let [near, _] = loopback::pair(QUEUE_SLOTS);
    let tx = StalledTx { frames: 0, stalls_after, stall: Duration::from_millis(stall_ms), once };
    let ports = vec![Port { name: "near".to_owned(), tx, rx: near.1 }];
    Engine::new(ports, vec![stream(10, 0, 0)], vec![], SystemClock).unwrap()
}

#[test]
fn a_sender_that_stalls_at_the_end_sends_the_rest_if_no_frame_may_go_unsent() {
    let sent_count = |catch_up_max_s: f64| {
        let request = TrialRequest { loads_pps: vec![1000.0], catch_up_max_s, ..request(1000.0, 1.0) };
        measure(&mut stalled_engine(950, 100, true), &request).streams[0].offered_count
    };
    assert_eq!(sent_count(1.0), 1000);
    assert!(sent_count(0.5) < 1000);
}

#[test]
fn a_sender_that_stalls_for_longer_than_the_trial_sends_the_rest_as_well() {
    for (duration_s, stalls_after, count) in [(0.03, 10, 30), (0.004, 1, 4)] {
        let request = TrialRequest { loads_pps: vec![1000.0], ..request(1000.0, duration_s) };
        let stream = &measure(&mut stalled_engine(stalls_after, 100, true), &request).streams[0];
        assert_eq!((stream.offered_count, stream.intended_count), (count, count));
    }
}

#[test]
fn a_sender_that_is_too_slow_does_not_prolong_a_trial_that_is_stopped() {
    let stop = Some(StopRule { elapsed_s: Some(0.3), ..StopRule::default() });
    let request = TrialRequest { loads_pps: vec![20_000.0], stop, ..request(20_000.0, 20.0) };
    let begin = Instant::now();
    let reply = measure(&mut stalled_engine(0, 100, false), &request);
    assert!(reply.stopped_early && reply.streams[0].offered_count < reply.streams[0].intended_count);
    assert!(begin.elapsed().as_secs_f64() < 10.0);
}

#[test]
fn the_wait_for_a_sender_that_stalls_at_the_end_is_reported() {
    let stop = Some(StopRule { elapsed_s: Some(0.2), ..StopRule::default() });
    let mut engine = stalled_engine(150, 3_500, true);
    let mut reported_s = Vec::new();
    let request = TrialRequest { loads_pps: vec![1000.0], stop, ..request(1000.0, 10.0) };
    engine.trial(&request, &AtomicBool::new(false), |window| reported_s.push(window.elapsed_s)).unwrap();
    // One report a second in the wait, and that of the last window.
    assert!(reported_s.iter().filter(|&&elapsed_s| elapsed_s > 1.0).count() >= 3, "{reported_s:?}");
}

fn change(at_s: f64, loads_pps: [f64; 2]) -> LoadChange {
    LoadChange { at_s, loads_pps: loads_pps.to_vec() }
}

#[test]
fn loads_change_within_a_trial_without_a_gap() {
    let load_changes = vec![change(0.1, [3000.0, 0.0]), change(0.2, [0.0, 500.0])];
    let mut engine = connected(Faults::default(), QUEUE_SLOTS, vec![]);
    let reply = measure(&mut engine, &TrialRequest { load_changes, window_latency: true, ..request(1000.0, 0.3) });
    let counts = |stream: &StreamCounts| (stream.intended_count, stream.offered_count, stream.received_count);
    assert_eq!(reply.streams.iter().map(counts).collect::<Vec<_>>(), [(400, 400, 400), (150, 150, 150)]);
    assert_eq!(reply.streams[0].change_sequences, [100, 400]);
    assert_eq!(reply.streams[1].change_sequences, [100, 100]);
    for (latency, stream) in reply.windows.latency.iter().zip(&reply.streams) {
        assert_eq!(latency.count.iter().sum::<u64>(), stream.received_count);
        assert!(latency.min_ns.iter().zip(&latency.max_ns).all(|(min_ns, max_ns)| min_ns <= max_ns));
    }
}

#[test]
fn streams_that_share_a_port_begin_when_their_load_does() {
    let [near, far] = loopback::pair(QUEUE_SLOTS);
    let [near, far] = [("near", near), ("far", far)].map(|(name, (tx, rx))| Port { name: name.to_owned(), tx, rx });
    let streams = (0..20).map(|id| stream(id, 0, 1)).collect();
    let mut engine = Engine::new(vec![near, far], streams, vec![], SystemClock).unwrap();
    let loads_pps: Vec<f64> = (0..20).map(|id| if id < 15 { 100.0 } else { 0.0 }).collect();
    let load_changes = vec![LoadChange { at_s: 0.2, loads_pps: vec![100.0; 20] }];
    let reply = measure(&mut engine, &TrialRequest { loads_pps, load_changes, ..request(1.0, 0.4) });
    for stream in &reply.streams {
        let before = if stream.stream_id < 15 { 20 } else { 0 };
        assert_eq!((&*stream.change_sequences, stream.received_count), (&[before][..], before + 20));
    }
    assert_eq!(reply.windows.series.iter().map(|series| series.first_phase).collect::<Vec<_>>(), [0, 1]);
    let received = reply.windows.received_count.iter().map(|column| column.iter().sum::<u64>());
    assert_eq!(received.collect::<Vec<_>>(), [600, 100]);
}

#[test]
fn a_stall_over_several_load_changes_is_caught_up_with_or_skipped_as_any_other() {
    let sent_count = |catch_up_max_s: f64| {
        let load_changes = [(0.1, 2000.0), (0.15, 4000.0), (0.2, 1000.0)]
            .map(|(at_s, load_pps)| LoadChange { at_s, loads_pps: vec![load_pps] })
            .to_vec();
        let request = TrialRequest { loads_pps: vec![1000.0], load_changes, catch_up_max_s, ..request(1.0, 0.6) };
        let reply = measure(&mut stalled_engine(50, 300, true), &request);
        assert_eq!(reply.streams[0].intended_count, 100 + 100 + 200 + 400);
        (reply.streams[0].offered_count, reply.senders[0].unsent_count)
    };
    assert_eq!(sent_count(60.0), (800, 0));
    // All frames of the second and third phase are due during the stall.
    let (offered_count, unsent_count) = sent_count(0.02);
    assert!(unsent_count >= 300 && offered_count + unsent_count <= 800, "{offered_count} {unsent_count}");
}

#[test]
fn a_trial_that_is_stopped_before_a_load_change_leaves_it_out() {
    let stop = Some(StopRule { elapsed_s: Some(0.2), ..StopRule::default() });
    let mut engine = connected(Faults::default(), QUEUE_SLOTS, vec![]);
    let load_changes = vec![change(0.1, [2000.0; 2]), change(8.0, [9000.0; 2])];
    let reply = measure(&mut engine, &TrialRequest { load_changes, stop, ..request(1000.0, 10.0) });
    let stream = &reply.streams[0];
    assert_eq!((stream.intended_count, stream.lost_count), (stream.offered_count, 0));
    assert_eq!(stream.change_sequences, [100, stream.offered_count]);
    assert!(stream.offered_count < 15_000);
}

#[test]
fn a_burst_has_all_its_frames_however_long_its_sender_is_held_up() {
    for catch_up_max_s in [0.02, 60.0] {
        let request = TrialRequest { loads_pps: vec![1000.0], burst: true, catch_up_max_s, ..request(1000.0, 0.2) };
        let reply = measure(&mut stalled_engine(100, 300, true), &request);
        let burst = reply.senders[0].burst.unwrap();
        assert_eq!((reply.streams[0].intended_count, reply.streams[0].offered_count), (200, 200));
        assert_eq!((reply.senders[0].unsent_count, reply.stopped_early), (0, false));
        // Up to four frames of the call that stalled share its time.
        assert!(burst.gap_max_ns >= 300_000_000 / 4 && burst.shift_ns >= 297_000_000, "{burst:?}");
        assert!(burst.last_sent_ns - burst.first_sent_ns >= 495_000_000, "{burst:?}");
        assert!((reply.duration_s - 0.2 - burst.shift_ns as f64 / 1e9).abs() < 1e-6);
        assert_eq!(reply.windows.offered_count[0].iter().sum::<u64>(), 200);
    }
}

#[test]
fn a_burst_ends_early_after_its_sender_was_held_up_for_longer_than_its_duration() {
    let stop = Some(StopRule { elapsed_s: Some(0.5), ..StopRule::default() });
    let request = TrialRequest { loads_pps: vec![1000.0], burst: true, stop, ..request(1000.0, 0.4) };
    let reply = measure(&mut stalled_engine(100, 450, true), &request);
    assert_eq!((reply.stopped_early, reply.stopped_by), (true, Some(StopClause::Elapsed)));
    assert!(reply.duration_s >= 0.5 && reply.streams[0].offered_count < 400);
    assert_eq!(reply.streams[0].intended_count, reply.streams[0].offered_count);
}

/// Holds frames in a queue without limit, and passes one on in every 20 ms.
struct SlowQueueRx<R> {
    inner: R,
    queued: VecDeque<Vec<u8>>,
    next_ns: u64,
}

impl<R: Receive> Receive for SlowQueueRx<R> {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        self.inner.receive(budget, |frame| self.queued.push_back(frame.bytes.to_vec()))?;
        let now_ns = SystemClock.wall_ns();
        if now_ns < self.next_ns {
            return Ok(0);
        }
        let Some(bytes) = self.queued.pop_front() else { return Ok(0) };
        self.next_ns = now_ns + 20_000_000;
        sink(ReceivedFrame { bytes: &bytes, time_ns: now_ns });
        Ok(1)
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        self.inner.take_drop_count()
    }

    fn queue_slots(&self) -> u32 {
        self.inner.queue_slots()
    }
}

/// RFC 2544 section 23 waits two seconds for frames in flight.
#[test]
fn the_frames_of_a_burst_that_a_queue_still_holds_are_in_flight() {
    let [near, far] = loopback::pair(QUEUE_SLOTS);
    let slow = |inner| SlowQueueRx { inner, queued: VecDeque::new(), next_ns: 0 };
    let ports = vec![
        Port { name: "near".to_owned(), tx: near.0, rx: slow(near.1) },
        Port { name: "far".to_owned(), tx: far.0, rx: slow(far.1) },
    ];
    let mut engine = Engine::new(ports, vec![stream(10, 0, 1)], vec![], SystemClock).unwrap();
    // 80 frames within 8 ms leave the queue within 1.6 s.
    let request = TrialRequest { loads_pps: vec![10_000.0], burst: true, ..request(1.0, 0.008) };
    let reply = measure(&mut engine, &request);
    let (stream, burst) = (&reply.streams[0], reply.senders[0].burst.unwrap());
    assert_eq!((stream.offered_count, stream.received_count, stream.lost_count), (80, 80, 0));
    let (first_ns, last_ns) = (stream.first_arrival_ns.unwrap(), stream.last_arrival_ns.unwrap());
    assert!(
        first_ns > burst.first_sent_ns as i64 - 1000 && last_ns - first_ns >= 79 * 20_000_000,
        "{first_ns} {last_ns}"
    );
}

#[test]
fn a_load_that_varies_sends_every_frame_all_the_same() {
    let pattern = LoadPattern::Burst { period_s: 0.02, duty_ratio: 0.5 };
    let mut engine = connected(Faults::default(), QUEUE_SLOTS, vec![]);
    let reply = measure(&mut engine, &TrialRequest { pattern, ..request(10_000.0, 0.2) });
    for (sender, stream) in reply.senders.iter().zip(&reply.streams) {
        assert_eq!((stream.intended_count, stream.offered_count, stream.lost_count), (2000, 2000, 0));
        // No frames are sent in the second half of each period.
        assert!(sender.gaps.as_ref().unwrap().max_ns > 9_000_000);
    }
}

#[test]
fn many_streams_share_a_port_by_their_loads_and_are_counted_each() {
    let [near, far] = loopback::pair(QUEUE_SLOTS);
    let ports = vec![
        Port { name: "near".to_owned(), tx: near.0, rx: FaultRx::new(near.1, Faults::default()) },
        Port {
            name: "far".to_owned(),
            tx: far.0,
            rx: FaultRx::new(far.1, Faults { drop_every: 40, ..Faults::default() }),
        },
    ];
    let streams = (0..40).map(|id| stream(id, 0, 1)).collect();
    let loads_pps = (0..40).map(|id| if id % 2 == 0 { 500.0 } else { 1500.0 }).collect();
    let mut engine = Engine::new(ports, streams, vec![], WorkerClock::new()).unwrap();
    let reply = measure(&mut engine, &TrialRequest { loads_pps, ..request(1.0, 0.2) });
    for (id, stream) in reply.streams.iter().enumerate() {
        assert_eq!(stream.intended_count, if id % 2 == 0 { 100 } else { 300 });
        assert_eq!(stream.offered_count, stream.intended_count);
    }
    let total = |count: fn(&StreamCounts) -> u64| reply.streams.iter().map(count).sum::<u64>();
    assert_eq!((total(|stream| stream.offered_count), total(|stream| stream.lost_count)), (8000, 200));
    assert_eq!(reply.windows.series.len(), 1);
    assert_eq!(reply.windows.lost_count[0].iter().sum::<u64>(), 200);
    let latencies: Vec<_> =
        reply.directions.iter().map(|times| times.latency.as_ref().unwrap().latency.count).collect();
    let received: Vec<_> = reply.streams.iter().map(|stream| stream.received_count).collect();
    assert_eq!((latencies.iter().sum::<u64>(), latencies), (7800, received));
}

#[test]
fn a_port_that_breaks_ends_the_trial_with_its_message() {
    let request = TrialRequest { loads_pps: vec![1e5], ..request(1e5, 10.0) };
    let begin = Instant::now();
    let error = failing_engine(5000).trial(&request, &AtomicBool::new(false), |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "near: unplugged");
    assert!(begin.elapsed().as_secs_f64() < 5.0);
}

#[test]
fn learning_frames_tell_a_dead_direction_from_a_live_one() {
    let directions = connected(Faults::default(), QUEUE_SLOTS, vec![]).check(1.0).unwrap().directions;
    assert!(directions.iter().all(|direction| direction.received_count > 0));
    let dead = Faults { drop_every: 1, ..Faults::default() };
    let directions = connected(dead, QUEUE_SLOTS, vec![]).check(0.1).unwrap().directions;
    assert_eq!(directions[0].received_count, 0);
    assert!(directions[0].sent_count > 0 && directions[1].received_count > 0);
}

#[test]
fn impossible_requests_say_what_is_wrong() {
    let mut engine = connected(Faults::default(), QUEUE_SLOTS, vec![]);
    let mut error_of = |request: TrialRequest| {
        let error = engine.trial(&request, &AtomicBool::new(false), |_| ()).unwrap_err();
        assert!(matches!(error, EngineError::Request(_)));
        error.to_string()
    };
    assert!(error_of(TrialRequest { loads_pps: vec![1.0], ..request(1.0, 1.0) }).contains("one load per stream"));
    assert!(error_of(request(f64::NAN, 1.0)).contains("above 0"));
    assert!(error_of(request(1.0, 0.0)).contains("duration_s"));
    assert!(error_of(TrialRequest { window_s: 1.0, ..request(1.0, 1.0) }).contains("window_s"));
    let mut change_error = |load_changes| error_of(TrialRequest { load_changes, ..request(1.0, 1.0) });
    assert!(change_error(vec![change(1.0, [1.0; 2])]).contains("below duration_s (1)"));
    assert!(change_error(vec![change(0.5, [1.0; 2]), change(0.5, [2.0; 2])]).contains("out of order"));
    assert!(change_error(vec![change(0.5, [1.0, -1.0])]).contains("-1 is not a valid load"));
    assert!(change_error(vec![LoadChange { at_s: 0.5, loads_pps: vec![1.0] }]).contains("one load per stream"));
    assert!(change_error((1..=101).map(|n| change(f64::from(n) / 200.0, [1.0; 2])).collect()).contains("at most 100"));
    assert!(error_of(request(0.0, 1.0)).contains("stream 0 never sends"));
    let pattern = LoadPattern::Burst { period_s: 0.1, duty_ratio: 0.5 };
    let load_changes = vec![change(0.5, [1.0; 2])];
    assert!(error_of(TrialRequest { pattern, load_changes, ..request(1.0, 1.0) }).contains("pattern flat"));
    let pattern = LoadPattern::Burst { period_s: 0.1, duty_ratio: 0.5 };
    let burst = || TrialRequest { burst: true, ..request(1.0, 1.0) };
    assert!(error_of(TrialRequest { pattern, ..burst() }).contains("burst: the load within a burst is flat"));
    let load_changes = vec![change(0.5, [1.0; 2])];
    assert!(error_of(TrialRequest { load_changes, ..burst() }).contains("leave out load_changes"));
    for timeout_s in [f64::NAN, -1.0, 1e300] {
        assert!(engine.check(timeout_s).unwrap_err().to_string().contains("timeout_s"));
    }
}

#[test]
fn streams_must_name_ports_that_exist_and_have_ids_of_their_own() {
    let open = |streams: Vec<Stream>| {
        let [near, _] = loopback::pair(16);
        let ports = vec![Port { name: "near".to_owned(), tx: near.0, rx: near.1 }];
        Engine::new(ports, streams, vec![], WorkerClock::new()).unwrap_err().to_string()
    };
    assert!(open(vec![stream(1, 0, 3)]).contains("no port with index 3"));
    assert!(open(vec![stream(1, 0, 0), stream(1, 0, 0)]).contains("duplicate id"));
    assert!(open(vec![]).contains("at least one"));
}

//! A trial from start to verdict: workers send and receive, the conductor watches the clock and the counters.

use nodrop_model::{CATCH_UP_MAX_S, DRAIN_MAX_S, StreamCounts, TrialReply, TrialRequest, Window, Windows};
use nodrop_port::clock::Clock;
use nodrop_port::{PortError, Receive, Transmit, host, thread};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::judge::{Observed, judge};
use crate::lane::{ReceiveLane, SendLane};
use crate::pacer::Pacer;
use crate::progress::{Progress, Sample, certainly_lost};
use crate::worker::{Receiver, Sender, Worker};
use crate::{EngineError, Port, Stream};

/// Time for threads to start before the first frame is due.
const HEAD_START_NS: u64 = 5_000_000;
/// Frames in flight are given up once nothing has arrived for this long.
const QUIET_NS: u64 = 200_000_000;
const DRAIN_STEP_NS: u64 = 5_000_000;
/// Frames read and forgotten before a trial at most.
const STALE_MAX: usize = 1 << 22;

/// What a trial needs besides ports and streams.
pub(crate) struct Setting<'a> {
    pub(crate) request: &'a TrialRequest,
    pub(crate) tag: u8,
    pub(crate) threads: usize,
    pub(crate) cores: &'a [usize],
    pub(crate) stop: &'a AtomicBool,
}

/// Run one trial.
pub(crate) fn run<T: Transmit, R: Receive, C: Clock>(
    ports: &mut [Port<T, R>],
    streams: &[Stream],
    clock: &C,
    setting: &Setting<'_>,
    on_window: impl FnMut(Window),
) -> Result<TrialReply, EngineError> {
    discard_stale(ports)?;
    let before = Reading::take(clock);
    let progress = Progress::new(clock.steady_ns() + HEAD_START_NS, streams.len());
    let mut conductor = Conductor::new(setting, clock, &progress, on_window);
    let workers = assign(ports, streams, setting);
    let workers = std::thread::scope(|scope| {
        let handles: Vec<_> = workers
            .into_iter()
            .enumerate()
            .map(|(index, worker)| {
                let core = setting.cores.get(index).copied();
                let progress = &progress;
                scope.spawn(move || worker.run(core, clock, progress))
            })
            .collect();
        conductor.watch();
        handles
            .into_iter()
            .map(|handle| handle.join().map_err(|_| EngineError::Panic)?.map_err(EngineError::Port))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let spent = Reading::take(clock).since(&before);
    let timeline = conductor.finish();
    let counts = Counts::gather(&workers, streams, setting.request.histograms);
    drop(workers);
    let drops = take_drop_counts(ports)?;
    let queue_slots = ports.iter().map(|port| port.rx.queue_slots()).min().unwrap_or(0);
    Ok(reply(setting, counts, timeline, &spent, drops, queue_slots))
}

/// Forget what arrived after the last trial, and the drops that came with it.
fn discard_stale<T, R: Receive>(ports: &mut [Port<T, R>]) -> Result<(), EngineError> {
    for port in ports.iter_mut() {
        let mut seen = 0;
        while seen < STALE_MAX {
            match port.rx.receive(1024, |_| ())? {
                0 => break,
                count => seen += count,
            }
        }
    }
    take_drop_counts(ports).map(|_| ())
}

fn take_drop_counts<T, R: Receive>(ports: &mut [Port<T, R>]) -> Result<u64, EngineError> {
    let counts: Result<Vec<u64>, PortError> = ports.iter_mut().map(|port| port.rx.take_drop_count()).collect();
    Ok(counts?.iter().sum())
}

/// Deal out the work: one thread does everything; of several, the first half sends and the second half receives.
fn assign<'a, T: Transmit, R: Receive>(
    ports: &'a mut [Port<T, R>],
    streams: &'a [Stream],
    setting: &Setting<'_>,
) -> Vec<Worker<'a, T, R>> {
    let mut workers: Vec<Worker<'a, T, R>> =
        (0..setting.threads).map(|_| Worker { senders: Vec::new(), receivers: Vec::new(), cpu_wait_ns: 0 }).collect();
    let sending_threads = setting.threads.div_ceil(2);
    let receiving_threads = (setting.threads - sending_threads).max(1);
    let first_receiver = setting.threads - receiving_threads;
    for (index, port) in ports.iter_mut().enumerate() {
        let lanes: Vec<_> = streams
            .iter()
            .enumerate()
            .filter(|(_, stream)| stream.tx_port == index)
            .map(|(position, stream)| send_lane(position, stream, setting))
            .collect();
        let arriving = streams
            .iter()
            .enumerate()
            .filter(|(_, stream)| stream.rx_port == index)
            .map(|(position, stream)| (position, stream.template.stream_id()));
        let lane = ReceiveLane::new(arriving, setting.tag);
        if !lanes.is_empty() {
            workers[index % sending_threads].senders.push(Sender { port: &mut port.tx, lanes });
        }
        if !lane.inboxes.is_empty() {
            let thread = first_receiver + index % receiving_threads;
            workers[thread].receivers.push(Receiver { port: &mut port.rx, lane });
        }
    }
    workers
}

fn send_lane<'a>(position: usize, stream: &'a Stream, setting: &Setting<'_>) -> SendLane<'a> {
    let request = setting.request;
    let pacer = Pacer::new(request.loads_pps[position], request.duration_s);
    let deadline_ns = ((request.duration_s + CATCH_UP_MAX_S) * 1e9) as u64;
    SendLane::new(position, &stream.template, pacer, setting.tag, deadline_ns)
}

/// What the host had spent at one moment.
struct Reading {
    host: host::HostReading,
    steady_ns: u64,
    wall_ns: u64,
}

/// What the host spent between two moments.
struct Spent {
    steal_ratio: f64,
    cpu_ratio: f64,
    clock_step_ns: u64,
}

impl Reading {
    fn take(clock: &impl Clock) -> Self {
        Self { host: host::read(), steady_ns: clock.steady_ns(), wall_ns: clock.wall_ns() }
    }

    fn since(&self, before: &Self) -> Spent {
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let steady_ns = self.steady_ns - before.steady_ns;
        let wall_ns = self.wall_ns.wrapping_sub(before.wall_ns);
        Spent {
            steal_ratio: ratio(
                self.host.steal_ticks.saturating_sub(before.host.steal_ticks),
                self.host.total_ticks.saturating_sub(before.host.total_ticks),
            ),
            cpu_ratio: ratio(self.host.process_cpu_ns - before.host.process_cpu_ns, steady_ns),
            clock_step_ns: (wall_ns.wrapping_sub(steady_ns) as i64).unsigned_abs(),
        }
    }
}

/// How sending went, as the conductor saw it.
struct Timeline {
    windows: Windows,
    sent_for_s: f64,
    stopped_early: bool,
    aborted: bool,
}

/// Watches a running trial.
struct Conductor<'a, C, F> {
    setting: &'a Setting<'a>,
    clock: &'a C,
    progress: &'a Progress,
    on_window: F,
    last: Vec<Sample>,
    timeline: Timeline,
}

impl<'a, C: Clock, F: FnMut(Window)> Conductor<'a, C, F> {
    fn new(setting: &'a Setting<'a>, clock: &'a C, progress: &'a Progress, on_window: F) -> Self {
        let columns = || vec![Vec::new(); progress.streams.len()];
        let windows = Windows { end_s: Vec::new(), offered_count: columns(), received_count: columns() };
        let timeline =
            Timeline { windows, sent_for_s: setting.request.duration_s, stopped_early: false, aborted: false };
        Self { setting, clock, progress, on_window, last: vec![Sample::default(); progress.streams.len()], timeline }
    }

    /// Until the workers can go home.
    fn watch(&mut self) {
        self.watch_sending();
        self.drain();
        self.close_window();
        self.progress.stop_receiving.store(true, Relaxed);
    }

    fn watch_sending(&mut self) {
        let window_ns = (self.setting.request.window_s * 1e9) as u64;
        let mut edge_ns = window_ns;
        while self.progress.is_sending() {
            self.wait_until(edge_ns);
            edge_ns += window_ns * (1 + self.elapsed_ns().saturating_sub(edge_ns) / window_ns);
            if self.progress.is_sending() {
                let window_ago = self.close_window();
                if self.must_stop(&window_ago) {
                    self.stop_sending();
                }
            }
        }
    }

    fn must_stop(&mut self, window_ago: &[Sample]) -> bool {
        self.timeline.aborted = self.setting.stop.load(Relaxed);
        let lost = certainly_lost(window_ago, &self.last);
        self.timeline.aborted || self.setting.request.stop_lost_count.is_some_and(|limit| lost > limit)
    }

    fn stop_sending(&mut self) {
        self.progress.stop_sending.store(true, Relaxed);
        while self.progress.is_sending() {
            thread::sleep_ns(10_000);
        }
        let elapsed_s = self.elapsed_ns() as f64 / 1e9;
        self.timeline.stopped_early = elapsed_s < self.setting.request.duration_s;
        self.timeline.sent_for_s = elapsed_s.min(self.setting.request.duration_s);
    }

    /// Wait for what is in flight: until all of it is there, nothing has come for a while, or too long.
    fn drain(&mut self) {
        let begin_ns = self.clock.steady_ns();
        let (mut seen, mut seen_ns) = (Vec::new(), begin_ns);
        loop {
            let now = self.progress.sample();
            let now_ns = self.clock.steady_ns();
            if now.iter().all(|stream| stream.received >= stream.offered) {
                return;
            }
            if now != seen {
                (seen, seen_ns) = (now, now_ns);
            }
            if now_ns - seen_ns > QUIET_NS || now_ns - begin_ns > (DRAIN_MAX_S * 1e9) as u64 {
                return;
            }
            thread::sleep_ns(DRAIN_STEP_NS);
        }
    }

    /// Write down one window; gives the sample at its beginning.
    fn close_window(&mut self) -> Vec<Sample> {
        let now = self.progress.sample();
        let elapsed_s = self.elapsed_ns() as f64 / 1e9;
        let windows = &mut self.timeline.windows;
        windows.end_s.push(elapsed_s);
        for (stream, (before, now)) in self.last.iter().zip(&now).enumerate() {
            windows.offered_count[stream].push(now.offered - before.offered);
            windows.received_count[stream].push(now.received - before.received);
        }
        (self.on_window)(Window {
            trial_id: self.setting.request.trial_id,
            elapsed_s,
            offered_count: now.iter().map(|stream| stream.offered).sum(),
            received_count: now.iter().map(|stream| stream.received).sum(),
        });
        std::mem::replace(&mut self.last, now)
    }

    fn elapsed_ns(&self) -> u64 {
        self.clock.steady_ns().saturating_sub(self.progress.start_ns)
    }

    fn wait_until(&self, edge_ns: u64) {
        let now_ns = self.clock.steady_ns();
        thread::sleep_ns((self.progress.start_ns + edge_ns).saturating_sub(now_ns));
    }

    fn finish(self) -> Timeline {
        self.timeline
    }
}

/// Counts of all streams and what the tester noticed of itself.
struct Counts {
    streams: Vec<StreamCounts>,
    receive_gap_max_ns: u64,
    lateness_max_ns: u64,
    cpu_wait_max_ns: u64,
}

impl Counts {
    fn gather<T, R>(workers: &[Worker<'_, T, R>], streams: &[Stream], histograms: bool) -> Self {
        let blank = |stream: &Stream| StreamCounts {
            stream_id: stream.template.stream_id(),
            tx_port: stream.tx_port,
            rx_port: stream.rx_port,
            intended_count: 0,
            offered_count: 0,
            received_count: 0,
            lost_count: 0,
            duplicate_count: 0,
            out_of_order_count: 0,
            latency: None,
            lateness: None,
        };
        let mut counts = Self {
            streams: streams.iter().map(blank).collect(),
            receive_gap_max_ns: 0,
            lateness_max_ns: 0,
            cpu_wait_max_ns: workers.iter().map(|worker| worker.cpu_wait_ns).max().unwrap_or(0),
        };
        for lane in workers.iter().flat_map(|worker| &worker.senders).flat_map(|sender| &sender.lanes) {
            counts.add_sent(lane);
        }
        for lane in workers.iter().flat_map(|worker| &worker.receivers).map(|receiver| &receiver.lane) {
            counts.add_received(lane, histograms);
        }
        for stream in &mut counts.streams {
            stream.lost_count = stream.offered_count.saturating_sub(stream.received_count);
        }
        counts
    }

    fn add_sent(&mut self, lane: &SendLane<'_>) {
        let stream = &mut self.streams[lane.stream];
        stream.offered_count = lane.offered_count;
        stream.lateness = lane.lateness.lateness();
        let late_ns = stream.lateness.as_ref().map_or(0, |lateness| lateness.max_ns);
        self.lateness_max_ns = self.lateness_max_ns.max(late_ns);
    }

    fn add_received(&mut self, lane: &ReceiveLane, histograms: bool) {
        self.receive_gap_max_ns = self.receive_gap_max_ns.max(lane.gap_max_ns);
        for inbox in &lane.inboxes {
            let stream = &mut self.streams[inbox.stream];
            stream.received_count = inbox.tracker.received_count();
            stream.duplicate_count = inbox.tracker.duplicate_count();
            stream.out_of_order_count = inbox.tracker.out_of_order_count();
            stream.latency = inbox.latency.latency(histograms);
        }
    }
}

fn reply(
    setting: &Setting<'_>,
    mut counts: Counts,
    timeline: Timeline,
    spent: &Spent,
    tester_drop_count: u64,
    queue_slots: u32,
) -> TrialReply {
    let request = setting.request;
    for (stream, load_pps) in counts.streams.iter_mut().zip(&request.loads_pps) {
        let asked = Pacer::new(*load_pps, timeline.sent_for_s).intended_count();
        // A trial that was stopped is judged by what it had been asked for until then.
        stream.intended_count = if timeline.stopped_early { asked.min(stream.offered_count.max(1)) } else { asked };
    }
    let received: u64 = counts.streams.iter().map(|stream| stream.received_count).max().unwrap_or(0);
    let received_pps = received as f64 / timeline.sent_for_s.max(1e-9);
    let observed = Observed {
        intended_load_pps: request.loads_pps.iter().sum(),
        intended_count: counts.streams.iter().map(|stream| stream.intended_count).sum(),
        offered_count: counts.streams.iter().map(|stream| stream.offered_count).sum(),
        tester_drop_count,
        receive_gap_max_ns: counts.receive_gap_max_ns,
        receive_queue_ns: if received == 0 { 0 } else { (f64::from(queue_slots) / received_pps * 1e9) as u64 },
        lateness_max_ns: counts.lateness_max_ns,
        cpu_wait_ns: counts.cpu_wait_max_ns,
        duration_ns: (timeline.sent_for_s * 1e9) as u64,
        steal_ratio: spent.steal_ratio,
        clock_step_ns: spent.clock_step_ns,
        aborted: timeline.aborted,
    };
    TrialReply {
        trial_id: request.trial_id,
        duration_s: timeline.sent_for_s,
        stopped_early: timeline.stopped_early,
        streams: counts.streams,
        tester_drop_count,
        tester_cpu_ratio: spent.cpu_ratio,
        windows: timeline.windows,
        doubts: judge(&observed),
    }
}

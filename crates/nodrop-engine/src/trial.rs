//! A trial from start to verdict: the work dealt out, done, counted and judged.

use nodrop_model::{TrialReply, TrialRequest, Window};
use nodrop_port::clock::Clock;
use nodrop_port::{PortError, Receive, Transmit};
use std::sync::atomic::AtomicBool;

use crate::conductor::Conductor;
use crate::groups::Groups;
use crate::outcome::{Counts, reply};
use crate::pacer::Pacer;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::receive_lane::{Incoming, ReceiveLane};
use crate::send_lane::{Outgoing, Pace, SendLane};
use crate::worker::{Receiver, Sender, Worker};
use crate::{EngineError, Port, Stream};

/// Time for threads to start before the first frame is due.
const HEAD_START_NS: u64 = 5_000_000;
/// Time for ports that keep their timetable by themselves to be told of it.
const PACED_HEAD_START_NS: u64 = 60_000_000;
/// Up to twice so many frames per second and port the latency of each is measured: measuring takes about 15 ns a frame.
const LATENCY_PPS: f64 = 2e6;
/// Frames read and forgotten before a trial at most.
const STALE_MAX: usize = 1 << 22;

/// What a trial needs besides ports and streams.
pub(crate) struct Setting<'a> {
    pub(crate) request: &'a TrialRequest,
    pub(crate) tag: u8,
    pub(crate) threads: usize,
    pub(crate) cores: &'a [usize],
    pub(crate) stop: &'a AtomicBool,
    pub(crate) groups: &'a Groups,
    /// So many times longer than asked between two looks.
    pub(crate) patience: u32,
}

impl Setting<'_> {
    pub(crate) fn duration_ns(&self) -> u64 {
        (self.request.duration_s * 1e9).round() as u64
    }

    pub(crate) fn look_ns(&self) -> u64 {
        (self.request.look_s * 1e9) as u64 * u64::from(self.patience)
    }
}

/// Run one trial.
pub(crate) fn run<T: Transmit, R: Receive, C: Clock>(
    ports: &mut [Port<T, R>],
    streams: &[Stream],
    clock: &C,
    setting: &Setting<'_>,
    on_window: impl FnMut(Window),
) -> Result<TrialReply, EngineError> {
    let before = Reading::take(clock);
    let workers = assign(ports, streams, setting)?;
    let sending_ports = workers.iter().map(|worker| worker.senders.len()).sum();
    let is_paced = |worker: &Worker<'_, T, R>| worker.senders.iter().any(|sender| sender.port.paced().is_some());
    let head_start_ns = if workers.iter().any(is_paced) { PACED_HEAD_START_NS } else { HEAD_START_NS };
    let start_ns = clock.steady_ns() + head_start_ns;
    let progress = Progress::new(start_ns, setting.duration_ns(), setting.groups.counted.count(), sending_ports);
    let mut conductor = Conductor::new(setting, clock, &progress, on_window);
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
    let end_ns = (timeline.sent_for_s * 1e9).round() as u64;
    let counts = Counts::gather(&workers, streams, setting, end_ns);
    drop(workers);
    let drops = take_drop_counts(ports)? + counts.refused_count;
    let queue_slots = ports.iter().map(|port| port.rx.queue_slots()).min().unwrap_or(0);
    Ok(reply(setting, counts, timeline, &spent, drops, queue_slots))
}

/// Forget what arrived after the last trial, and the drops that came with it.
pub(crate) fn discard_stale<T, R: Receive>(ports: &mut [Port<T, R>]) -> Result<(), EngineError> {
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
) -> Result<Vec<Worker<'a, T, R>>, EngineError> {
    let mut workers: Vec<Worker<'a, T, R>> =
        (0..setting.threads).map(|_| Worker { senders: Vec::new(), receivers: Vec::new(), cpu_wait_ns: 0 }).collect();
    let sending_threads = setting.threads.div_ceil(2);
    let receiving_threads = (setting.threads - sending_threads).max(1);
    let first_receiver = setting.threads - receiving_threads;
    let any_paced = ports.iter().any(|port| port.tx.paced().is_some());
    for (index, port) in ports.iter_mut().enumerate() {
        let leaving = leaving(index, streams, setting);
        let arriving = arriving(index, streams, setting);
        if !leaving.is_empty() {
            let lane = SendLane::new(&leaving, pace(index, &leaving, setting));
            let thread = match port.tx.paced() {
                // They all leave together, on a thread that does nothing else meanwhile.
                Some(exit) => lane.timetable(exit).map(|_| 0).map_err(EngineError::Request)?,
                None if any_paced => first_receiver + index % receiving_threads,
                None => index % sending_threads,
            };
            workers[thread].senders.push(Sender { index, port: &mut port.tx, lane });
        }
        if !arriving.is_empty() {
            let lane = ReceiveLane::new(&arriving, setting.tag, latency_every(&arriving, setting));
            let thread = first_receiver + index % receiving_threads;
            workers[thread].receivers.push(Receiver { port: &mut port.rx, lane });
        }
    }
    Ok(workers)
}

fn leaving<'a>(port: usize, streams: &'a [Stream], setting: &Setting<'_>) -> Vec<Outgoing<'a>> {
    let outgoing = |(position, stream): (usize, &'a Stream)| Outgoing {
        stream: position,
        frames: &stream.frames,
        load_pps: setting.request.loads_pps[position],
        group: setting.groups.counted.of_stream(position),
    };
    streams.iter().enumerate().filter(|(_, stream)| stream.tx_port == port).map(outgoing).collect()
}

fn pace(port: usize, leaving: &[Outgoing<'_>], setting: &Setting<'_>) -> Pace {
    let load_pps = leaving.iter().map(|stream| stream.load_pps).sum();
    let TrialRequest { duration_s, pattern, .. } = setting.request;
    Pace {
        pacer: Pacer::with_pattern(load_pps, *duration_s, pattern, port),
        end_ns: setting.duration_ns(),
        catch_up_max_ns: (setting.request.catch_up_max_s * 1e9) as u64,
        trial_tag: setting.tag,
    }
}

fn arriving<'a>(port: usize, streams: &'a [Stream], setting: &Setting<'_>) -> Vec<Incoming<'a>> {
    let incoming = |(position, stream): (usize, &'a Stream)| Incoming {
        stream: position,
        stream_id: stream.frames.stream_id(),
        rx_offsets: stream.frames.rx_offsets(),
        group: setting.groups.counted.of_stream(position),
        times: setting.groups.timed.of_stream(position),
    };
    streams.iter().enumerate().filter(|(_, stream)| stream.rx_port == port).map(incoming).collect()
}

/// Every frame where that is cheap enough, else so many that the port measures `LATENCY_PPS` of them.
fn latency_every(arriving: &[Incoming<'_>], setting: &Setting<'_>) -> u64 {
    let load_pps: f64 = arriving.iter().map(|stream| setting.request.loads_pps[stream.stream]).sum();
    setting.request.latency_every.unwrap_or(((load_pps / LATENCY_PPS) as u64).max(1))
}

//! A trial from start to verdict: the work dealt out, done, counted and judged.

use nodrop_model::{TrialReply, TrialRequest, Window};
use nodrop_port::clock::Clock;
use nodrop_port::{PortError, Receive, Transmit};
use std::sync::atomic::AtomicBool;

use crate::conductor::Conductor;
use crate::lane::{ReceiveLane, SendLane};
use crate::outcome::{Counts, reply};
use crate::pacer::Pacer;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::worker::{Receiver, Sender, Worker};
use crate::{EngineError, Port, Stream};

/// Time for threads to start before the first frame is due.
const HEAD_START_NS: u64 = 5_000_000;
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

impl Setting<'_> {
    pub(crate) fn duration_ns(&self) -> u64 {
        (self.request.duration_s * 1e9).round() as u64
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
    discard_stale(ports)?;
    let before = Reading::take(clock);
    let progress = Progress::new(clock.steady_ns() + HEAD_START_NS, setting.duration_ns(), streams.len());
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
    let pacer = Pacer::new(setting.request.loads_pps[position], setting.request.duration_s);
    SendLane::new(position, &stream.template, pacer, setting.tag, setting.duration_ns())
}

//! A trial from start to reply: assigns work to threads, runs them, and collects the counts.

use nodrop_model::{LoadPhase, SignatureForm, TrialReply, TrialRequest, Window};
use nodrop_port::clock::{Clock, WallOffset};
use nodrop_port::sched::ThreadTimes;
use nodrop_port::{PortError, Receive, Transmit};
use std::sync::atomic::Ordering::Relaxed;

use crate::conductor::Conductor;
use crate::context::TrialContext;
use crate::disturbance::{OtherWorkMeter, SpeedSamplers};
use crate::host_snapshot::HostSnapshot;
use crate::receive_lane::{IncomingStream, ReceiveLane, ReceiveRecords};
use crate::send_lane::{OutgoingStream, Pace, SendLane};
use crate::send_phases::SendPhases;
use crate::shared_counters::SharedCounters;
use crate::trial_reply::{Counts, reply};
use crate::worker::{Receiver, Sender, Worker};
use crate::{EngineError, Port, Stream};

/// Time for threads to start before the first frame is due.
const HEAD_START_NS: u64 = 5_000_000;
/// Time for self-paced ports to prepare before the first frame is due.
const SELF_PACED_HEAD_START_NS: u64 = 60_000_000;
/// Latency of every frame is measured up to twice this many frames per second and port: a measurement takes about 15
/// ns.
const LATENCY_PPS: f64 = 2e6;
/// Maximum number of stale frames discarded before a trial.
const STALE_MAX: usize = 1 << 22;

/// Run one trial.
pub(crate) fn run<T: Transmit, R: Receive, C: Clock>(
    ports: &mut [Port<T, R>],
    streams: &[Stream],
    clock: &C,
    context: &TrialContext<'_>,
    on_window: impl FnMut(Window),
) -> Result<TrialReply, EngineError> {
    let other_work = context.request.disturbances.as_ref().map(OtherWorkMeter::start);
    let before = HostSnapshot::take(clock);
    let workers = assign(ports, streams, context)?;
    let sending_ports = workers.iter().map(|worker| worker.senders.len()).sum();
    let is_self_paced =
        |worker: &Worker<'_, T, R>| worker.senders.iter().any(|sender| sender.port.egress_port().is_some());
    let has_self_paced = workers.iter().any(is_self_paced);
    let head_start_ns = if has_self_paced { SELF_PACED_HEAD_START_NS } else { HEAD_START_NS };
    let start_ns = clock.steady_ns() + head_start_ns;
    let begin_unix_ns = start_ns.wrapping_add(WallOffset::new(clock).current(clock));
    let shared =
        SharedCounters::new(start_ns, context.request.sending_end_ns(), context.series.counts.count(), sending_ports);
    shared.grace_ns.store(context.request.end_grace_ns(), Relaxed);
    let samplers = SpeedSamplers::new(context.request.disturbances.as_ref(), context.cores);
    let mut conductor = Conductor::new(context, clock, &shared, &samplers, on_window);
    let workers = std::thread::scope(|scope| {
        samplers.start(scope);
        let handles: Vec<_> = workers
            .into_iter()
            .enumerate()
            .map(|(index, worker)| {
                let core = context.cores.get(index).copied();
                let shared = &shared;
                scope.spawn(move || worker.run(core, clock, shared))
            })
            .collect();
        conductor.run();
        samplers.end();
        handles
            .into_iter()
            .map(|handle| handle.join().map_err(|_| EngineError::Panic)?.map_err(EngineError::Port))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let usage = HostSnapshot::take(clock).usage_since(&before);
    let (timeline, slots, cpus, cpu_speeds) = conductor.finish();
    let other_work = other_work.map(|meter| meter.read(&cpus)).unwrap_or_default();
    let counts = Counts::collect(&workers, streams, context, &timeline, begin_unix_ns);
    drop(workers);
    let drops = take_drop_counts(ports)? + counts.rejected_count;
    let queue_slots = ports.iter().map(|port| port.rx.queue_slots()).min().unwrap_or(0);
    let reply = reply(context, counts, timeline, slots, &usage, drops, queue_slots);
    let other_work = if reply.windows.disturbed_time.time_s.is_empty() { Vec::new() } else { other_work };
    Ok(TrialReply { begin_unix_ns, other_work, cpu_speeds, ..reply })
}

/// Discard frames that arrived after the last trial, and their drop counts.
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

/// Assign work to threads: a single thread does everything; of several, the first half sends and the second half
/// receives.
fn assign<'a, T: Transmit, R: Receive>(
    ports: &'a mut [Port<T, R>],
    streams: &'a [Stream],
    context: &TrialContext<'_>,
) -> Result<Vec<Worker<'a, T, R>>, EngineError> {
    let mut workers: Vec<Worker<'a, T, R>> = (0..context.threads)
        .map(|_| Worker { senders: Vec::new(), receivers: Vec::new(), cpu_times: ThreadTimes::default() })
        .collect();
    let sending_threads = context.threads.div_ceil(2);
    let receiving_threads = (context.threads - sending_threads).max(1);
    let first_receiver = context.threads - receiving_threads;
    let has_self_paced = ports.iter().any(|port| port.tx.egress_port().is_some());
    for (index, port) in ports.iter_mut().enumerate() {
        let outgoing = outgoing_streams(index, streams, context);
        let incoming = incoming_streams(index, streams, context);
        if !outgoing.is_empty() {
            let lane = SendLane::new(&outgoing, build_pace(index, &outgoing, context));
            let thread = match port.tx.egress_port() {
                // Self-paced ports send together, on a thread that does no other work meanwhile.
                Some(egress) => lane.timetable(egress).map(|_| 0).map_err(EngineError::Request)?,
                None if has_self_paced => first_receiver + index % receiving_threads,
                None => index % sending_threads,
            };
            workers[thread].senders.push(Sender { index, port: &mut port.tx, lane });
        }
        if !incoming.is_empty() {
            let TrialRequest { loss_run_max, window_latency, .. } = *context.request;
            let records = ReceiveRecords { loss_run_max, window_latency };
            let lane = ReceiveLane::new(&incoming, context.tag, latency_every(&incoming, context), records);
            let thread = first_receiver + index % receiving_threads;
            workers[thread].receivers.push(Receiver { port: &mut port.rx, lane });
        }
    }
    Ok(workers)
}

fn outgoing_streams<'a>(port: usize, streams: &'a [Stream], context: &TrialContext<'_>) -> Vec<OutgoingStream<'a>> {
    let outgoing = |(position, stream): (usize, &'a Stream)| OutgoingStream {
        stream: position,
        frames: &stream.frames,
        series: context.series.counts.index_of(position),
    };
    streams.iter().enumerate().filter(|(_, stream)| stream.tx_port == port).map(outgoing).collect()
}

fn build_pace(port: usize, outgoing: &[OutgoingStream<'_>], context: &TrialContext<'_>) -> Pace {
    let streams: Vec<usize> = outgoing.iter().map(|stream| stream.stream).collect();
    let TrialRequest { pattern, burst, .. } = context.request;
    let mut phases = SendPhases::new(&context.request.load_phases(), &streams, pattern, port);
    phases.end_ns = context.request.sending_end_ns();
    Pace {
        phases,
        is_burst: *burst,
        catch_up_max_ns: (context.request.catch_up_max_s * 1e9) as u64,
        trial_tag: context.tag,
    }
}

fn incoming_streams<'a>(port: usize, streams: &'a [Stream], context: &TrialContext<'_>) -> Vec<IncomingStream<'a>> {
    let incoming = |(position, stream): (usize, &'a Stream)| IncomingStream {
        stream: position,
        stream_id: stream.frames.stream_id(),
        signature: stream.frames.signature(),
        rx_offsets: stream.frames.rx_offsets(),
        series: context.series.counts.index_of(position),
        times: context.series.latency.index_of(position),
        arrival_check: stream.frames.arrival_check(),
    };
    streams.iter().enumerate().filter(|(_, stream)| stream.rx_port == port).map(incoming).collect()
}

/// Return the latency sampling: every frame if that is cheap enough, otherwise a rate that measures `LATENCY_PPS` per
/// port; none without send times.
fn latency_every(incoming: &[IncomingStream<'_>], context: &TrialContext<'_>) -> u64 {
    if incoming.iter().any(|stream| stream.signature == SignatureForm::Headers) {
        return 0;
    }
    let phases = context.request.load_phases();
    let load_pps = |phase: &LoadPhase<'_>| incoming.iter().map(|stream| phase.loads_pps[stream.stream]).sum::<f64>();
    let load_max_pps = phases.iter().map(load_pps).fold(0.0, f64::max);
    context.request.latency_every.unwrap_or(((load_max_pps / LATENCY_PPS) as u64).max(1))
}

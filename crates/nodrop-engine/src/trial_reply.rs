//! Conversion of the workers' counts and the conductor's timeline to the engine's reply.

use nodrop_model::{
    DirectionTimes, SenderTimes, StopClause, StreamCounts, TrialReply, TrialRequest, UndisturbedCounts,
};
use nodrop_port::sched::ThreadTimes;

use crate::Stream;
use crate::context::{LossBasis, Timeline, TrialContext};
use crate::disturbance::Slots;
use crate::host_snapshot::Usage;
use crate::live_loss::reconcile;
use crate::receive_lane::ReceiveLane;
use crate::validity::{TrialObservations, find_doubts};
use crate::worker::{Sender, Worker};

/// Counts of all streams, and the tester's self-observation.
pub(crate) struct Counts {
    streams: Vec<StreamCounts>,
    directions: Vec<DirectionTimes>,
    senders: Vec<SenderTimes>,
    /// Frames that the tester's own interfaces rejected after they had been passed to them.
    pub(crate) rejected_count: u64,
    corrupted_count: u64,
    receive_gap_max_ns: u64,
    cpu_wait_max_ns: u64,
}

/// Return the longest time for which other work kept a thread off its CPU.
///
/// Threads that are more than their CPUs displace each other.
fn longest_wait_ns(times: &[ThreadTimes], core_count: usize) -> u64 {
    let ran_ns: u64 = times.iter().map(|thread| thread.ran_ns).sum();
    let share_cores = (1..times.len()).contains(&core_count);
    let wait_ns =
        |thread: &ThreadTimes| thread.waited_for_others_ns(if share_cores { ran_ns - thread.ran_ns } else { 0 });
    times.iter().map(wait_ns).max().unwrap_or(0)
}

impl Counts {
    /// Collect the counts of a trial that began at `begin_unix_ns`.
    pub(crate) fn collect<T, R>(
        workers: &[Worker<'_, T, R>],
        streams: &[Stream],
        context: &TrialContext<'_>,
        timeline: &Timeline,
        begin_unix_ns: u64,
    ) -> Self {
        let mut counts = Self::zero(streams, context);
        let end_ns = (timeline.sent_for_s * 1e9).round() as u64;
        let cpu_times: Vec<ThreadTimes> = workers.iter().map(|worker| worker.cpu_times).collect();
        counts.cpu_wait_max_ns = longest_wait_ns(&cpu_times, context.cores.len());
        for sender in workers.iter().flat_map(|worker| &worker.senders) {
            counts.add_sent(sender, end_ns, context.request.load_changes.len());
        }
        if context.request.burst && timeline.stopped_early {
            // No other frame was due, because the timetable of a burst moves.
            counts.streams.iter_mut().for_each(|stream| stream.intended_count = stream.offered_count);
        }
        counts.senders.sort_by_key(|sender| sender.port);
        for lane in workers.iter().flat_map(|worker| &worker.receivers).map(|receiver| &receiver.lane) {
            counts.add_received(lane, context.request, begin_unix_ns);
        }
        for stream in &mut counts.streams {
            stream.lost_count = stream.offered_count.saturating_sub(stream.received_count);
        }
        counts
    }

    fn zero(streams: &[Stream], context: &TrialContext<'_>) -> Self {
        let stream = |stream: &Stream| StreamCounts {
            stream_id: stream.frames.stream_id(),
            tx_port: stream.tx_port,
            rx_port: stream.rx_port,
            intended_count: 0,
            offered_count: 0,
            received_count: 0,
            lost_count: 0,
            duplicate_count: 0,
            compared_count: 0,
            misdelivered_count: 0,
            out_of_order_count: 0,
            reordering: None,
            loss_runs: None,
            loss_timeline: Vec::new(),
            arrival_gap_max_ns: 0,
            first_arrival_ns: None,
            last_arrival_ns: None,
            change_sequences: Vec::new(),
        };
        let direction = |series: &nodrop_model::Series| DirectionTimes {
            tx_port: series.tx_port,
            rx_port: series.rx_port,
            stream_id: series.stream_id,
            latency_every: 0,
            latency: None,
        };
        Self {
            streams: streams.iter().map(stream).collect(),
            directions: context.series.latency.series().iter().map(direction).collect(),
            senders: Vec::new(),
            rejected_count: 0,
            corrupted_count: 0,
            receive_gap_max_ns: 0,
            cpu_wait_max_ns: 0,
        }
    }

    fn add_sent<T>(&mut self, sender: &Sender<'_, T>, end_ns: u64, change_count: usize) {
        for (stream, sent) in sender.lane.sent_counts() {
            self.streams[stream].offered_count = sent;
        }
        for change in 1..=change_count {
            for (stream, sequence) in sender.lane.sequences_at(change) {
                self.streams[stream].change_sequences.push(sequence);
            }
        }
        for (stream, intended) in sender.lane.intended_counts(end_ns) {
            // A sender may learn of an early end a few frames too late.
            self.streams[stream].intended_count = intended.max(self.streams[stream].offered_count);
        }
        self.rejected_count += sender.lane.times.rejected_count;
        self.senders.push(sender.lane.times.summary(sender.index));
    }

    fn add_received(&mut self, lane: &ReceiveLane, request: &TrialRequest, begin_unix_ns: u64) {
        self.receive_gap_max_ns = self.receive_gap_max_ns.max(lane.gap_max_ns);
        self.corrupted_count += lane.corrupted_count;
        for inbox in &lane.inboxes {
            let stream = &mut self.streams[inbox.stream];
            stream.received_count = inbox.tracker.received_count();
            stream.duplicate_count = inbox.tracker.duplicate_count();
            stream.compared_count = inbox.compared_count;
            stream.misdelivered_count = inbox.misdelivered_count;
            stream.reordering = inbox.tracker.reordering().cloned();
            stream.out_of_order_count = stream.reordering.as_ref().map_or(0, |reordering| reordering.count);
            stream.loss_runs = inbox.tracker.loss_runs(stream.offered_count);
            if let Some(timeline) = &inbox.timeline {
                let runs = timeline.runs(inbox.tracker.next_expected(), stream.offered_count);
                stream.loss_timeline = runs.into_iter().map(|run| run.since(begin_unix_ns as i64)).collect();
            }
            stream.arrival_gap_max_ns = inbox.gap_max_ns;
            if request.burst {
                (stream.first_arrival_ns, stream.last_arrival_ns) = inbox.arrival_times_ns(begin_unix_ns).unzip();
            }
        }
        for timed in &lane.times {
            let direction = &mut self.directions[timed.series];
            direction.latency_every = lane.latency_every;
            direction.latency = timed.latency.latency(&timed.variation, request.histograms);
        }
    }

    fn total(&self, count: impl Fn(&StreamCounts) -> u64) -> u64 {
        self.streams.iter().map(count).sum()
    }

    /// Return the frames that the busiest port received.
    fn port_received_max(&self) -> u64 {
        let mut ports = std::collections::BTreeMap::new();
        for stream in &self.streams {
            *ports.entry(stream.rx_port).or_insert(0) += stream.received_count;
        }
        ports.into_values().max().unwrap_or(0)
    }
}

/// Build the reply, including the doubts.
pub(crate) fn reply(
    context: &TrialContext<'_>,
    counts: Counts,
    mut timeline: Timeline,
    slots: Option<Slots>,
    usage: &Usage,
    tester_drop_count: u64,
    queue_slots: u32,
) -> TrialReply {
    let mut lost = vec![0; context.series.counts.count()];
    for (index, stream) in counts.streams.iter().enumerate() {
        lost[context.series.counts.index_of(index)] += stream.lost_count;
    }
    timeline.windows.lost_count.iter_mut().zip(lost).for_each(|(column, lost)| reconcile(column, lost));
    let undisturbed = slots.and_then(|slots| separate_disturbed_time(slots, &counts, &mut timeline));
    let received_pps = counts.port_received_max() as f64 / timeline.sent_for_s.max(1e-9);
    let sender_max = |time: fn(&SenderTimes) -> u64| counts.senders.iter().map(time).max().unwrap_or(0);
    let observations = TrialObservations {
        intended_load_pps: context.request.loads_pps.iter().sum(),
        intended_count: counts.total(|stream| stream.intended_count),
        offered_count: counts.total(|stream| stream.offered_count),
        tester_drop_count,
        receive_gap_max_ns: counts.receive_gap_max_ns,
        receive_queue_ns: if received_pps == 0.0 { 0 } else { (f64::from(queue_slots) / received_pps * 1e9) as u64 },
        lateness_max_ns: sender_max(|times| times.lateness.as_ref().map_or(0, |lateness| lateness.max_ns)),
        stall_max_ns: sender_max(|times| times.stalls.map_or(0, |stalls| stalls.longest_ns)),
        stall_count: sender_max(|times| times.stalls.map_or(0, |stalls| stalls.count)),
        skipped_count: counts.senders.iter().map(|times| times.unsent_count).sum(),
        catch_up_max_ns: (context.request.catch_up_max_s * 1e9) as u64,
        cpu_wait_ns: counts.cpu_wait_max_ns,
        duration_ns: (timeline.sent_for_s * 1e9) as u64,
        steal_ratio: usage.steal_ratio,
        clock_step_ns: usage.clock_step_ns,
        aborted: timeline.aborted,
        stopped_for_late: stopped_for_late(
            context,
            &timeline,
            undisturbed.map_or_else(|| counts.total(|stream| stream.lost_count), |rest| rest.lost_count),
        ),
    };
    TrialReply {
        trial_id: context.request.trial_id,
        begin_unix_ns: 0,
        duration_s: timeline.sent_for_s,
        stopped_early: timeline.stopped_early,
        stopped_by: timeline.stopped_by,
        streams: counts.streams,
        corrupted_count: counts.corrupted_count,
        directions: counts.directions,
        senders: counts.senders,
        tester_drop_count,
        tester_cpu_ratio: usage.cpu_ratio,
        neighbors: Vec::new(),
        windows: timeline.windows,
        undisturbed_counts: undisturbed,
        other_work: Vec::new(),
        cpu_speeds: Vec::new(),
        doubts: find_doubts(&observations),
        capture: None,
    }
}

/// Add the disturbed part to the windows; return the rest of the trial, None if no time was disturbed, or no frame is
/// missing: what passes beside other work passes without it.
fn separate_disturbed_time(slots: Slots, counts: &Counts, timeline: &mut Timeline) -> Option<UndisturbedCounts> {
    let sum = |columns: &[Vec<u64>]| columns.iter().flatten().sum::<u64>();
    let total = |count: fn(&StreamCounts) -> u64| counts.total(count);
    let (received, lost) = (total(|stream| stream.received_count), total(|stream| stream.lost_count));
    let own_loss = match timeline.stop_basis {
        Some(LossBasis::Undisturbed) => None,
        basis => slots.final_own_loss(timeline.sent_for_s, received, lost, basis == Some(LossBasis::Own)),
    };
    let (disturbed, disturbed_unsent) = match own_loss {
        Some(own_lost) => slots.finish_bounded(&timeline.windows, own_lost),
        None => slots.finish(timeline.sent_for_s, &timeline.windows),
    };
    if disturbed.time_s.is_empty() {
        return None;
    }
    let unsent = total(|stream| stream.intended_count).saturating_sub(total(|stream| stream.offered_count));
    let rest = UndisturbedCounts {
        duration_s: (timeline.sent_for_s - disturbed.total_s()).max(0.0),
        offered_count: total(|stream| stream.offered_count).saturating_sub(sum(&disturbed.offered_count)),
        lost_count: lost.saturating_sub(sum(&disturbed.lost_count)),
        unsent_count: unsent.saturating_sub(disturbed_unsent),
    };
    timeline.windows.disturbed_time = disturbed;
    let is_complete = lost == 0 && disturbed_unsent == 0;
    (!is_complete).then_some(rest)
}

fn stopped_for_late(context: &TrialContext<'_>, timeline: &Timeline, lost_count: u64) -> Option<u64> {
    let limit = context.request.stop.as_ref().and_then(|rule| rule.lost_count)?;
    (timeline.stopped_by == Some(StopClause::LostCount) && lost_count <= limit).then_some(lost_count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_share_a_core_do_not_wait_for_other_work_while_one_of_them_runs() {
        let times = |ran_ns, waited_ns| ThreadTimes { ran_ns, waited_ns, slice_count: 0 };
        let times = [times(600, 400), times(350, 640)];
        assert_eq!(longest_wait_ns(&times, 1), 50);
        assert_eq!(longest_wait_ns(&times, 2), 640);
        assert_eq!(longest_wait_ns(&times, 0), 640);
        assert_eq!(longest_wait_ns(&times[..1], 1), 400);
    }
}

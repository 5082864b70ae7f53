//! From what workers counted and the conductor saw to the engine's answer.

use nodrop_model::{StreamCounts, TrialReply};

use crate::Stream;
use crate::conductor::Timeline;
use crate::judge::{Observed, judge};
use crate::lane::{ReceiveLane, SendLane};
use crate::losses::settle;
use crate::pacer::Pacer;
use crate::reading::Spent;
use crate::trial::Setting;
use crate::worker::Worker;

/// Counts of all streams and what the tester noticed of itself.
pub(crate) struct Counts {
    streams: Vec<StreamCounts>,
    receive_gap_max_ns: u64,
    lateness_max_ns: u64,
    cpu_wait_max_ns: u64,
}

impl Counts {
    pub(crate) fn gather<T, R>(workers: &[Worker<'_, T, R>], streams: &[Stream], histograms: bool) -> Self {
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

/// The answer, with its verdict.
pub(crate) fn reply(
    setting: &Setting<'_>,
    mut counts: Counts,
    mut timeline: Timeline,
    spent: &Spent,
    tester_drop_count: u64,
    queue_slots: u32,
) -> TrialReply {
    let request = setting.request;
    let end_ns = (timeline.sent_for_s * 1e9).round() as u64;
    for (stream, load_pps) in counts.streams.iter_mut().zip(&request.loads_pps) {
        let asked = Pacer::new(*load_pps, request.duration_s).until(end_ns).intended_count();
        // A sender may be told of an early end a few frames too late.
        stream.intended_count = asked.max(stream.offered_count);
    }
    for (column, stream) in timeline.windows.lost_count.iter_mut().zip(&counts.streams) {
        settle(column, stream.lost_count);
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
        stopped_by: timeline.stopped_by,
        streams: counts.streams,
        tester_drop_count,
        tester_cpu_ratio: spent.cpu_ratio,
        windows: timeline.windows,
        doubts: judge(&observed),
    }
}

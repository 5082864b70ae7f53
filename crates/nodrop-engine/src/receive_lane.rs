//! The receive path of one port: assigns frames to streams, counts and times them.

use nodrop_model::{FrameTimes, SignatureForm};
use nodrop_port::clock::Clock;
use nodrop_port::{PortError, Receive, SNAP_BYTES, VLAN_TAG_BYTES, WireInfo};
use nodrop_wire::{ArrivalCheck, Signature, is_intact, wrapping_elapsed_ns};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::histogram::Durations;
use crate::loss_timeline::LossTimeline;
use crate::shared_counters::{ArrivalLatency, SharedCounters};
use crate::tracker::{Arrival, Tracker};

/// Maximum number of frames read from a port before sending continues.
const RECEIVE_BATCH: usize = 128;
/// Pause before an empty receive queue is read again, if the kernel timestamps arrivals: reading it at once would
/// contend with the kernel for its cache line.
const RECEIVE_PAUSE_NS: u64 = 20_000;
/// Entry of `ReceiveLane::inbox_index` for ids that do not arrive at this port.
const NONE: u16 = u16::MAX;

/// A stream that arrives at this port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IncomingStream<'a> {
    /// Index among all streams.
    pub(crate) stream: usize,
    pub(crate) stream_id: u16,
    pub(crate) signature: SignatureForm,
    /// Offsets at which its signature may begin.
    pub(crate) rx_offsets: &'a [usize],
    /// Index of its series among the trial's count series.
    pub(crate) series: usize,
    /// Index of its series among the trial's latency series.
    pub(crate) times: usize,
    /// Comparison of its frames with what the SUT must have written.
    pub(crate) arrival_check: Option<&'a Arc<ArrivalCheck>>,
}

/// Arrivals of one stream.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) stream: usize,
    /// Index of its series in `ReceiveLane::series`.
    series: usize,
    /// Index of its series in `ReceiveLane::times`.
    times: usize,
    pub(crate) tracker: Tracker,
    /// Runs of lost frames, in nanoseconds since the epoch; None if they are not requested.
    pub(crate) timeline: Option<LossTimeline>,
    /// Arrival times of the first and the latest frame, in nanoseconds since the epoch; zero before the first.
    first_time_ns: u64,
    last_time_ns: u64,
    pub(crate) gap_max_ns: u64,
    /// Latency of the latest measured frame, and the sequence number that follows it directly.
    last: Option<(u64, u64)>,
    arrival_check: Option<Arc<ArrivalCheck>>,
    /// Frames that were compared, and those of them with other values.
    pub(crate) compared_count: u64,
    pub(crate) misdelivered_count: u64,
}

impl Inbox {
    /// Return the arrival times of the first and the latest frame, in nanoseconds since `begin_unix_ns`; None if no
    /// frame arrived.
    pub(crate) fn arrival_times_ns(&self, begin_unix_ns: u64) -> Option<(i64, i64)> {
        let since_begin = |time_ns: u64| time_ns.wrapping_sub(begin_unix_ns) as i64;
        (self.last_time_ns != 0).then(|| (since_begin(self.first_time_ns), since_begin(self.last_time_ns)))
    }
}

/// Arrivals of one series.
#[derive(Debug)]
pub(crate) struct SeriesArrivals {
    series: usize,
    received: u64,
    missing: u64,
    overdue: u64,
    /// Latency, if it is requested by window.
    latency: Option<LatencySum>,
}

/// Latencies of a series: their number and sum, and the extremes since the last publication.
#[derive(Debug, Default)]
struct LatencySum {
    count: u64,
    sum_ns: u64,
    extremes_ns: Option<(u64, u64)>,
}

impl LatencySum {
    #[inline]
    fn record(&mut self, latency_ns: u64) {
        self.count += 1;
        self.sum_ns += latency_ns;
        let (min_ns, max_ns) = self.extremes_ns.unwrap_or((u64::MAX, 0));
        self.extremes_ns = Some((min_ns.min(latency_ns), max_ns.max(latency_ns)));
    }

    fn publish(&mut self, shared: &ArrivalLatency) {
        shared.count.store(self.count, Relaxed);
        shared.sum_ns.store(self.sum_ns, Relaxed);
        if let Some((min_ns, max_ns)) = self.extremes_ns.take() {
            shared.min_ns.fetch_min(min_ns, Relaxed);
            shared.max_ns.fetch_max(max_ns, Relaxed);
        }
    }
}

/// Latency of the frames of one series.
#[derive(Debug)]
pub(crate) struct SeriesLatency {
    pub(crate) series: usize,
    pub(crate) latency: Durations,
    pub(crate) variation: Durations,
}

/// Records that a trial may request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceiveRecords {
    /// Maximum number of loss runs with their times.
    pub(crate) loss_run_max: usize,
    /// Whether the latency of each window is published.
    pub(crate) window_latency: bool,
}

/// The receive path of one port.
#[derive(Debug)]
pub(crate) struct ReceiveLane {
    /// Index in `inboxes` by stream id.
    inbox_index: Vec<u16>,
    pub(crate) inboxes: Vec<Inbox>,
    series: Vec<SeriesArrivals>,
    pub(crate) times: Vec<SeriesLatency>,
    /// Offsets at which a signature may begin.
    offsets: Vec<usize>,
    signature: SignatureForm,
    trial_tag: u8,
    /// Number of loss runs that may still be stored.
    loss_run_limit: usize,
    window_latency: bool,
    /// Latency is measured for every n-th frame of a stream; zero disables it.
    pub(crate) latency_every: u64,
    last_read_ns: Option<u64>,
    resume_ns: u64,
    loss_check: u64,
    pub(crate) gap_max_ns: u64,
    /// Frames with a signature whose content was modified; not assigned to a stream, because its id may be what was
    /// modified.
    pub(crate) corrupted_count: u64,
}

impl ReceiveLane {
    pub(crate) fn new(
        streams: &[IncomingStream<'_>],
        trial_tag: u8,
        latency_every: u64,
        records: ReceiveRecords,
    ) -> Self {
        let mut offsets: Vec<usize> = streams.iter().flat_map(|stream| stream.rx_offsets).copied().collect();
        offsets.sort_unstable();
        offsets.dedup();
        let mut lane = Self {
            offsets,
            signature: streams.first().map(|stream| stream.signature).unwrap_or_default(),
            inbox_index: vec![NONE; streams.iter().map(|stream| usize::from(stream.stream_id) + 1).max().unwrap_or(0)],
            inboxes: Vec::with_capacity(streams.len()),
            series: Vec::new(),
            times: Vec::new(),
            trial_tag,
            loss_run_limit: records.loss_run_max,
            window_latency: records.window_latency,
            latency_every,
            last_read_ns: None,
            resume_ns: 0,
            loss_check: 0,
            gap_max_ns: 0,
            corrupted_count: 0,
        };
        for stream in streams {
            let (series, times) = (lane.series_index(stream.series), lane.latency_index(stream.times));
            lane.inbox_index[usize::from(stream.stream_id)] = lane.inboxes.len() as u16;
            lane.inboxes.push(Inbox {
                stream: stream.stream,
                series,
                times,
                tracker: Tracker::new(streams.len()),
                timeline: (records.loss_run_max > 0).then(LossTimeline::default),
                first_time_ns: 0,
                last_time_ns: 0,
                gap_max_ns: 0,
                last: None,
                arrival_check: stream.arrival_check.cloned(),
                compared_count: 0,
                misdelivered_count: 0,
            });
        }
        lane
    }

    fn series_index(&mut self, series: usize) -> usize {
        self.series.iter().position(|other| other.series == series).unwrap_or_else(|| {
            let latency = self.window_latency.then(LatencySum::default);
            self.series.push(SeriesArrivals { series, received: 0, missing: 0, overdue: 0, latency });
            self.series.len() - 1
        })
    }

    fn latency_index(&mut self, series: usize) -> usize {
        self.times.iter().position(|other| other.series == series).unwrap_or_else(|| {
            self.times.push(SeriesLatency { series, latency: Durations::default(), variation: Durations::default() });
            self.times.len() - 1
        })
    }

    /// Receive waiting frames, at most a batch; return their number.
    #[inline]
    pub(crate) fn receive<R: Receive>(
        &mut self,
        port: &mut R,
        clock: &impl Clock,
        shared: &SharedCounters,
    ) -> Result<usize, PortError> {
        let now_ns = clock.steady_ns();
        if now_ns < self.resume_ns {
            return Ok(0);
        }
        let gap_ns = now_ns - self.last_read_ns.replace(now_ns).unwrap_or(now_ns);
        self.gap_max_ns = self.gap_max_ns.max(gap_ns);
        let begins_check = self.begin_loss_check(shared.loss_check.load(Relaxed));
        let count = port.receive_with_wire_info(RECEIVE_BATCH, |frame, wire| {
            let Some((signature, offset)) = Signature::find(frame.bytes, self.signature, &self.offsets) else { return };
            if frame.bytes.len() <= SNAP_BYTES && !is_intact(frame.bytes, offset) {
                self.corrupted_count += 1;
            } else if signature.trial_tag == self.trial_tag {
                self.record(&signature, frame.time_ns);
                if ArrivalCheck::samples(signature.sequence) {
                    self.compare(&signature, frame.bytes, offset, wire);
                }
            }
        })?;
        if count == 0 && port.stamps_on_arrival() {
            self.resume_ns = now_ns + RECEIVE_PAUSE_NS;
        }
        if count > 0 || begins_check {
            self.publish(shared);
        }
        Ok(count)
    }

    /// Mark the frames missing now as overdue if a new loss check begins: they have until its end to arrive. Return
    /// whether one begins.
    #[inline]
    fn begin_loss_check(&mut self, loss_check: u64) -> bool {
        if loss_check == self.loss_check {
            return false;
        }
        self.loss_check = loss_check;
        self.series.iter_mut().for_each(|series| series.overdue = series.missing);
        true
    }

    #[inline]
    fn record(&mut self, signature: &Signature, time_ns: u64) {
        let Some(index) = self.inbox_index.get(usize::from(signature.stream_id)) else { return };
        let Some(inbox) = self.inboxes.get_mut(usize::from(*index)) else { return };
        let series = &mut self.series[inbox.series];
        let arrival = inbox.tracker.record(signature.sequence, self.loss_check);
        if let Some(timeline) = &mut inbox.timeline {
            let received_ns = time_ns as i64;
            let sent_ns = received_ns - wrapping_elapsed_ns(time_ns, signature.time_ns);
            let times = FrameTimes { sent_ns, received_ns };
            timeline.record(arrival, signature.sequence, times, &mut self.loss_run_limit);
        }
        match arrival {
            Arrival::Duplicate => return,
            Arrival::InOrder { skipped } => series.missing += skipped,
            Arrival::OutOfOrder { overdue } => {
                series.missing = series.missing.saturating_sub(1);
                series.overdue = series.overdue.saturating_sub(u64::from(overdue));
            }
        }
        series.received += 1;
        if inbox.last_time_ns == 0 {
            inbox.first_time_ns = time_ns;
        } else {
            inbox.gap_max_ns = inbox.gap_max_ns.max(time_ns.saturating_sub(inbox.last_time_ns));
        }
        inbox.last_time_ns = time_ns;
        if self.latency_every == 1 || self.latency_every != 0 && signature.sequence.is_multiple_of(self.latency_every) {
            let latency_ns = wrapping_elapsed_ns(time_ns, signature.time_ns).max(0) as u64;
            let times = &mut self.times[inbox.times];
            times.latency.record(latency_ns, 1);
            if let Some(latency) = &mut series.latency {
                latency.record(latency_ns);
            }
            if let Some((before_ns, _)) = inbox.last.filter(|(_, next)| *next == signature.sequence) {
                times.variation.record(latency_ns.abs_diff(before_ns), 1);
            }
            inbox.last = Some((latency_ns, signature.sequence + self.latency_every));
        }
    }

    /// Compare a frame with what the SUT must have written.
    #[cold]
    fn compare(&mut self, signature: &Signature, frame: &[u8], signature_at: usize, wire: WireInfo) {
        let Some(index) = self.inbox_index.get(usize::from(signature.stream_id)) else { return };
        let Some(inbox) = self.inboxes.get_mut(usize::from(*index)) else { return };
        if let Some(check) = &inbox.arrival_check {
            let is_right = match wire.vlan_tag.and_then(|tag| insert_tag(frame, tag)) {
                Some(tagged) => check.matches(&tagged, signature_at + VLAN_TAG_BYTES, signature.sequence),
                None => check.matches(frame, signature_at, signature.sequence),
            };
            inbox.compared_count += 1;
            inbox.misdelivered_count += u64::from(!is_right);
        }
    }

    fn publish(&mut self, shared: &SharedCounters) {
        for series in &mut self.series {
            let arrivals = &shared.arrivals[series.series];
            arrivals.received.store(series.received, Relaxed);
            arrivals.overdue.store(series.overdue, Relaxed);
            if let Some(latency) = &mut series.latency {
                latency.publish(&arrivals.latency);
            }
        }
    }
}

/// Return a frame with the tag that the kernel removed back between addresses and type.
fn insert_tag(frame: &[u8], tag: [u8; VLAN_TAG_BYTES]) -> Option<Vec<u8>> {
    let (addresses, rest) = frame.split_at_checked(12)?;
    Some([addresses, &tag, rest].concat())
}

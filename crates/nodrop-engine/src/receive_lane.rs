//! One port's arrivals: told apart by stream, counted, timed.

use nodrop_port::clock::Clock;
use nodrop_port::{PortError, Receive, SNAP_BYTES};
use nodrop_wire::{Signature, is_intact, wrapping_elapsed_ns};
use std::sync::atomic::Ordering::Relaxed;

use crate::histogram::Durations;
use crate::progress::Progress;
use crate::tracker::{Arrival, Tracker};

/// Frames taken from a port before sending goes on.
const RECEIVE_BATCH: usize = 128;
/// An empty receive queue is left alone for this long, where arrivals are stamped by the kernel anyway: reading it at once
/// would fight the kernel for its cache line.
const RECEIVE_PAUSE_NS: u64 = 20_000;
/// In `ReceiveLane::inbox_of`: no stream that arrives here.
const NONE: u16 = u16::MAX;

/// A stream that arrives at this port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<'a> {
    /// Its position among all streams.
    pub(crate) stream: usize,
    pub(crate) stream_id: u16,
    /// Where its signature may begin.
    pub(crate) rx_offsets: &'a [usize],
    /// Which of the trial's groups counts it.
    pub(crate) group: usize,
    /// Which of them its latency belongs to.
    pub(crate) times: usize,
}

/// What arrived of one stream.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) stream: usize,
    /// Place of its group in `ReceiveLane::groups`.
    group: usize,
    /// Place of its latency in `ReceiveLane::times`.
    times: usize,
    pub(crate) tracker: Tracker,
    /// Arrival of the latest frame; zero before the first.
    last_time_ns: u64,
    pub(crate) gap_max_ns: u64,
    /// Latency of the latest frame in order, and the number that would follow it directly.
    last: Option<(u64, u64)>,
}

/// What arrived of one group.
#[derive(Debug)]
pub(crate) struct Arrived {
    group: usize,
    received: u64,
    missing: u64,
    overdue: u64,
}

/// How long the frames of one group were on their way.
#[derive(Debug)]
pub(crate) struct Timed {
    pub(crate) group: usize,
    pub(crate) latency: Durations,
    pub(crate) variation: Durations,
}

/// One port's arrivals.
#[derive(Debug)]
pub(crate) struct ReceiveLane {
    /// By stream id.
    inbox_of: Vec<u16>,
    pub(crate) inboxes: Vec<Inbox>,
    groups: Vec<Arrived>,
    pub(crate) times: Vec<Timed>,
    /// Where a signature may begin.
    offsets: Vec<usize>,
    trial_tag: u8,
    /// Every so many frames of a stream latency is measured; zero for never.
    pub(crate) latency_every: u64,
    last_read_ns: Option<u64>,
    resume_ns: u64,
    look: u64,
    pub(crate) gap_max_ns: u64,
    /// Frames with a signature whose content is not what was sent: of no stream, since that may be what is wrong.
    pub(crate) corrupted_count: u64,
}

impl ReceiveLane {
    pub(crate) fn new(streams: &[Incoming<'_>], trial_tag: u8, latency_every: u64) -> Self {
        let mut offsets: Vec<usize> = streams.iter().flat_map(|stream| stream.rx_offsets).copied().collect();
        offsets.sort_unstable();
        offsets.dedup();
        let mut lane = Self {
            offsets,
            inbox_of: vec![NONE; streams.iter().map(|stream| usize::from(stream.stream_id) + 1).max().unwrap_or(0)],
            inboxes: Vec::with_capacity(streams.len()),
            groups: Vec::new(),
            times: Vec::new(),
            trial_tag,
            latency_every,
            last_read_ns: None,
            resume_ns: 0,
            look: 0,
            gap_max_ns: 0,
            corrupted_count: 0,
        };
        for stream in streams {
            let (group, times) = (lane.place(stream.group), lane.place_of_times(stream.times));
            lane.inbox_of[usize::from(stream.stream_id)] = lane.inboxes.len() as u16;
            lane.inboxes.push(Inbox {
                stream: stream.stream,
                group,
                times,
                tracker: Tracker::new(streams.len()),
                last_time_ns: 0,
                gap_max_ns: 0,
                last: None,
            });
        }
        lane
    }

    fn place(&mut self, group: usize) -> usize {
        self.groups.iter().position(|known| known.group == group).unwrap_or_else(|| {
            self.groups.push(Arrived { group, received: 0, missing: 0, overdue: 0 });
            self.groups.len() - 1
        })
    }

    fn place_of_times(&mut self, group: usize) -> usize {
        self.times.iter().position(|known| known.group == group).unwrap_or_else(|| {
            self.times.push(Timed { group, latency: Durations::default(), variation: Durations::default() });
            self.times.len() - 1
        })
    }

    /// Take what has arrived, at most a batch; gives how many frames there were.
    #[inline]
    pub(crate) fn receive<R: Receive>(
        &mut self,
        port: &mut R,
        clock: &impl Clock,
        progress: &Progress,
    ) -> Result<usize, PortError> {
        let now_ns = clock.steady_ns();
        if now_ns < self.resume_ns {
            return Ok(0);
        }
        let gap_ns = now_ns - self.last_read_ns.replace(now_ns).unwrap_or(now_ns);
        self.gap_max_ns = self.gap_max_ns.max(gap_ns);
        let begins_look = self.begin_look(progress.look.load(Relaxed));
        let count = port.receive(RECEIVE_BATCH, |frame| {
            let Some((signature, offset)) = Signature::find(frame.bytes, &self.offsets) else { return };
            if frame.bytes.len() <= SNAP_BYTES && !is_intact(frame.bytes, offset) {
                self.corrupted_count += 1;
            } else if signature.trial_tag == self.trial_tag {
                self.account(&signature, frame.time_ns);
            }
        })?;
        if count == 0 && port.stamps_on_arrival() {
            self.resume_ns = now_ns + RECEIVE_PAUSE_NS;
        }
        if count > 0 || begins_look {
            self.publish(progress);
        }
        Ok(count)
    }

    /// What is missing when a look begins has until its end to arrive; gives whether one begins.
    #[inline]
    fn begin_look(&mut self, look: u64) -> bool {
        if look == self.look {
            return false;
        }
        self.look = look;
        self.groups.iter_mut().for_each(|group| group.overdue = group.missing);
        true
    }

    #[inline]
    fn account(&mut self, signature: &Signature, time_ns: u64) {
        let Some(index) = self.inbox_of.get(usize::from(signature.stream_id)) else { return };
        let Some(inbox) = self.inboxes.get_mut(usize::from(*index)) else { return };
        let group = &mut self.groups[inbox.group];
        match inbox.tracker.record(signature.sequence, self.look) {
            Arrival::Duplicate => return,
            Arrival::InOrder { skipped } => group.missing += skipped,
            Arrival::OutOfOrder { overdue } => {
                group.missing = group.missing.saturating_sub(1);
                group.overdue = group.overdue.saturating_sub(u64::from(overdue));
            }
        }
        group.received += 1;
        if inbox.last_time_ns != 0 {
            inbox.gap_max_ns = inbox.gap_max_ns.max(time_ns.saturating_sub(inbox.last_time_ns));
        }
        inbox.last_time_ns = time_ns;
        if self.latency_every == 1 || self.latency_every != 0 && signature.sequence.is_multiple_of(self.latency_every) {
            let latency_ns = wrapping_elapsed_ns(time_ns, signature.time_ns).max(0) as u64;
            let times = &mut self.times[inbox.times];
            times.latency.record(latency_ns, 1);
            if let Some((before_ns, _)) = inbox.last.filter(|(_, next)| *next == signature.sequence) {
                times.variation.record(latency_ns.abs_diff(before_ns), 1);
            }
            inbox.last = Some((latency_ns, signature.sequence + self.latency_every));
        }
    }

    fn publish(&self, progress: &Progress) {
        for group in &self.groups {
            let arrivals = &progress.arrivals[group.group].0;
            arrivals.received.store(group.received, Relaxed);
            arrivals.overdue.store(group.overdue, Relaxed);
        }
    }
}

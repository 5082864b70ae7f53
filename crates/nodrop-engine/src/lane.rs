//! The two kinds of work in a trial: sending a port's streams, receiving a port's frames.

use nodrop_model::CATCH_UP_MAX_S;
use nodrop_port::clock::Clock;
use nodrop_port::{PortError, Receive, Slot, Transmit};
use nodrop_wire::{SIGNATURE_OFFSET, Signature, Template, wrapping_elapsed_ns};
use std::sync::atomic::Ordering::Relaxed;

use crate::histogram::Durations;
use crate::pacer::Pacer;
use crate::progress::Progress;
use crate::tracker::{Arrival, Tracker};

const CATCH_UP_MAX_NS: u64 = (CATCH_UP_MAX_S * 1e9) as u64;
/// Frames a stream may send before the next one has its turn and receiving goes on.
const SEND_BATCH: u64 = 32;
/// Frames taken from a port before sending goes on.
const RECEIVE_BATCH: usize = 128;
/// An empty receive queue is left alone for this long: reading it at once would fight the kernel for its cache line, and
/// arrivals are stamped by the kernel anyway.
const RECEIVE_PAUSE_NS: u64 = 20_000;

/// One stream on its way out.
#[derive(Debug)]
pub(crate) struct SendLane<'a> {
    pub(crate) stream: usize,
    template: &'a Template,
    pacer: Pacer,
    trial_tag: u8,
    end_ns: u64,
    pub(crate) offered_count: u64,
    pub(crate) lateness: Durations,
    done: bool,
}

impl<'a> SendLane<'a> {
    /// `end_ns` after the trial's start is when `pacer` ends.
    pub(crate) fn new(stream: usize, template: &'a Template, pacer: Pacer, trial_tag: u8, end_ns: u64) -> Self {
        let lateness = Durations::default();
        Self { stream, template, pacer, trial_tag, end_ns, offered_count: 0, lateness, done: false }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// When the next frame is due, since the trial's start.
    pub(crate) fn next_due_ns(&self) -> u64 {
        self.pacer.departure_ns(self.offered_count)
    }

    /// Send what is due, at most a batch; gives how many frames left.
    #[inline]
    pub(crate) fn send_due<T: Transmit>(
        &mut self,
        port: &mut T,
        clock: &impl Clock,
        progress: &Progress,
    ) -> Result<u64, PortError> {
        let Some(now_ns) = clock.steady_ns().checked_sub(progress.start_ns) else { return Ok(0) };
        self.end_at(progress.end_ns.load(Relaxed));
        if self.offered_count >= self.pacer.intended_count() || now_ns > self.end_ns + CATCH_UP_MAX_NS {
            self.done = true;
            progress.sending.fetch_sub(1, Relaxed);
            return Ok(0);
        }
        let due = self.pacer.due_count(now_ns).saturating_sub(self.offered_count).min(SEND_BATCH);
        if due == 0 {
            return Ok(0);
        }
        let late_ns = now_ns.saturating_sub(self.next_due_ns());
        let sent = self.send(port, due, clock.wall_ns())?;
        self.lateness.record(late_ns, sent);
        self.offered_count += sent;
        progress.streams[self.stream].offered.store(self.offered_count, Relaxed);
        Ok(sent)
    }

    /// Send only what is due until then.
    #[inline]
    fn end_at(&mut self, end_ns: u64) {
        if end_ns != self.end_ns {
            self.end_ns = end_ns;
            self.pacer = self.pacer.until(end_ns);
        }
    }

    fn send<T: Transmit>(&self, port: &mut T, count: u64, time_ns: u64) -> Result<u64, PortError> {
        let template = self.template;
        let tag = self.stream as u32;
        let first = self.offered_count;
        let sent = port.transmit(count as usize, template.bytes().len(), |position, slot: Slot<'_>| {
            if *slot.tag != tag {
                slot.bytes.copy_from_slice(template.bytes());
                *slot.tag = tag;
            }
            template.complete(slot.bytes, first + position as u64, time_ns, self.trial_tag);
            template.bytes().len()
        })?;
        Ok(sent as u64)
    }
}

/// What arrived of one stream.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) stream: usize,
    pub(crate) stream_id: u16,
    pub(crate) tracker: Tracker,
    pub(crate) latency: Durations,
}

/// One port's arrivals.
#[derive(Debug)]
pub(crate) struct ReceiveLane {
    pub(crate) inboxes: Vec<Inbox>,
    trial_tag: u8,
    last_read_ns: Option<u64>,
    resume_ns: u64,
    window: u64,
    pub(crate) gap_max_ns: u64,
}

impl ReceiveLane {
    pub(crate) fn new(streams: impl Iterator<Item = (usize, u16)>, trial_tag: u8) -> Self {
        let inbox = |(stream, stream_id)| Inbox {
            stream,
            stream_id,
            tracker: Tracker::default(),
            latency: Durations::default(),
        };
        let inboxes = streams.map(inbox).collect();
        Self { inboxes, trial_tag, last_read_ns: None, resume_ns: 0, window: 0, gap_max_ns: 0 }
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
        let begins_window = self.begin_window(progress.window.load(Relaxed));
        let (inboxes, trial_tag) = (&mut self.inboxes, self.trial_tag);
        let count = port.receive(RECEIVE_BATCH, |frame| {
            let signature = frame.bytes.get(SIGNATURE_OFFSET..).and_then(Signature::parse);
            if let Some(signature) = signature.filter(|signature| signature.trial_tag == trial_tag) {
                account(inboxes, &signature, frame.time_ns);
            }
        })?;
        if count == 0 {
            self.resume_ns = now_ns + RECEIVE_PAUSE_NS;
        }
        if count > 0 || begins_window {
            self.publish(progress);
        }
        Ok(count)
    }

    /// What is missing when a window begins has until its end to arrive; gives whether one begins.
    #[inline]
    fn begin_window(&mut self, window: u64) -> bool {
        if window == self.window {
            return false;
        }
        self.window = window;
        self.inboxes.iter_mut().for_each(|inbox| inbox.tracker.begin_window());
        true
    }

    fn publish(&self, progress: &Progress) {
        for inbox in &self.inboxes {
            let stream = &progress.streams[inbox.stream];
            stream.received.store(inbox.tracker.received_count(), Relaxed);
            stream.overdue.store(inbox.tracker.overdue_count(), Relaxed);
        }
    }
}

#[inline]
fn account(inboxes: &mut [Inbox], signature: &Signature, time_ns: u64) {
    let Some(inbox) = inboxes.iter_mut().find(|inbox| inbox.stream_id == signature.stream_id) else { return };
    if inbox.tracker.record(signature.sequence) != Arrival::Duplicate {
        let latency_ns = wrapping_elapsed_ns(time_ns, signature.time_ns);
        inbox.latency.record(latency_ns.max(0) as u64, 1);
    }
}

//! The send path of one port: its streams, interleaved by one schedule.

use nodrop_model::TrialRequest;
use nodrop_port::clock::Clock;
use nodrop_port::timetable::{EgressPort, Frame, Report, Timetable};
use nodrop_port::{Fill, PortError, Slot, Transmit};
use nodrop_wire::{Frames, SlotState, Template};
use std::sync::atomic::Ordering::Relaxed;

use crate::burst::Burst;
use crate::send_phases::{SendPhase, SendPhases};
use crate::send_times::SendTimes;
use crate::shared_counters::SharedCounters;

/// Restriction of self-paced ports, and the fix.
pub(crate) const USER_SPACE_ONLY: &str =
    "cannot be sent from the kernel; use a back end that sends from user space (af_xdp, af_packet)";

/// A stream that leaves through this port.
#[derive(Debug)]
pub(crate) struct OutgoingStream<'a> {
    /// Index among all streams.
    pub(crate) stream: usize,
    pub(crate) frames: &'a Frames,
    /// Index of its series among the trial's count series.
    pub(crate) series: usize,
}

/// A stream and its sending state.
#[derive(Debug)]
struct StreamState<'a> {
    frames: &'a Frames,
    /// The template, if there is only one.
    single: Option<&'a Template>,
    stream: u32,
    /// Tag of slots that hold its first template; those of its other templates follow.
    tag: u32,
    /// Index of its series in `SendLane::series_sent`.
    series: u32,
    /// Frames sent, which is also the next sequence number.
    sent: u64,
}

/// Pacing of a lane.
#[derive(Debug)]
pub(crate) struct Pace {
    pub(crate) phases: SendPhases,
    pub(crate) catch_up_max_ns: u64,
    /// Whether the trial is a burst: the timetable moves, and no frames are caught up with.
    pub(crate) is_burst: bool,
    pub(crate) trial_tag: u8,
}

/// The streams of one sending port.
#[derive(Debug)]
pub(crate) struct SendLane<'a> {
    pace: Pace,
    streams: Vec<StreamState<'a>>,
    /// State of each template, by tag.
    slot_states: Vec<SlotState>,
    /// Position of the current phase.
    phase: usize,
    /// Index of the next frame in the order of the phase.
    order_index: usize,
    frame_len_max: usize,
    /// Number of the next frame in the phase: frames of it sent or skipped.
    next: u64,
    next_due_ns: u64,
    /// Number of each phase that has begun but the first, and the frames of each stream sent before it.
    phase_begins: Vec<(usize, Vec<u64>)>,
    /// Count series of the trial, and the frames sent for each.
    series_sent: Vec<(usize, u64)>,
    pub(crate) times: SendTimes,
    done: bool,
}

impl<'a> SendLane<'a> {
    pub(crate) fn new(streams: &[OutgoingStream<'a>], pace: Pace) -> Self {
        let mut series_sent: Vec<(usize, u64)> = streams.iter().map(|stream| (stream.series, 0)).collect();
        series_sent.sort_unstable();
        series_sent.dedup();
        let series_index = |series| series_sent.partition_point(|(other, _)| *other < series) as u32;
        let mut next_tag = 0;
        let state = |stream: &OutgoingStream<'a>| {
            let tag = next_tag;
            next_tag += stream.frames.templates().len() as u32;
            let single = if let [single] = stream.frames.templates() { Some(single) } else { None };
            let (stream_index, series) = (stream.stream as u32, series_index(stream.series));
            StreamState { frames: stream.frames, single, stream: stream_index, tag, series, sent: 0 }
        };
        let first_pacer = &pace.phases.at(0).pacer;
        let burst = first_pacer.even_load_pps().filter(|_| pace.is_burst);
        let burst = burst.map(|load_pps| Burst::new(load_pps, first_pacer.intended_count()));
        Self {
            streams: streams.iter().map(state).collect(),
            slot_states: streams
                .iter()
                .flat_map(|stream| stream.frames.templates())
                .map(Template::slot_state)
                .collect(),
            phase: 0,
            order_index: 0,
            frame_len_max: streams.iter().map(|stream| stream.frames.frame_len_max()).max().unwrap_or(0),
            next: 0,
            next_due_ns: pace.phases.at(0).departure_ns(0),
            phase_begins: Vec::new(),
            series_sent,
            times: SendTimes::new(pace.catch_up_max_ns, burst),
            done: false,
            pace,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Return the due time of the next frame, since the trial's start.
    pub(crate) fn next_due_ns(&self) -> u64 {
        self.next_due_ns
    }

    /// Return the frames sent, by index of their stream among all.
    pub(crate) fn sent_counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.streams.iter().map(|state| (state.stream as usize, state.sent))
    }

    /// Return the frames intended until `end_ns`, by index of their stream among all.
    pub(crate) fn intended_counts(&self, end_ns: u64) -> impl Iterator<Item = (usize, u64)> {
        let counts = self.pace.phases.frame_counts(end_ns);
        self.streams.iter().map(|state| state.stream as usize).zip(counts)
    }

    /// Return the frames sent before a load change, counted from 1, by index of their stream among all.
    pub(crate) fn sequences_at(&self, change: usize) -> impl Iterator<Item = (usize, u64)> {
        let begin = self.phase_begins.iter().find(|(number, _)| *number >= change);
        let is_before_first = self.pace.phases.at(0).number >= change;
        self.streams.iter().enumerate().map(move |(index, state)| {
            let sent = if is_before_first { 0 } else { begin.map_or(state.sent, |(_, sent)| sent[index]) };
            (state.stream as usize, sent)
        })
    }

    pub(crate) fn trial_tag(&self) -> u8 {
        self.pace.trial_tag
    }

    /// Return the lane's timetable for a self-paced port, or the reason why it is unsupported.
    pub(crate) fn timetable(&self, egress: EgressPort) -> Result<Timetable<'_>, String> {
        if self.pace.is_burst {
            return Err(format!("a burst {USER_SPACE_ONLY}"));
        }
        let Some(SendPhase { pacer, schedule, .. }) = self.pace.phases.single() else {
            return Err(format!("load changes {USER_SPACE_ONLY}"));
        };
        Ok(Timetable {
            egress,
            load_pps: pacer.even_load_pps().ok_or_else(|| format!("patterns other than flat {USER_SPACE_ONLY}"))?,
            frame_count: pacer.intended_count(),
            catch_up_max_ns: self.pace.catch_up_max_ns,
            frames: self.streams.iter().map(|state| frame(state.frames)).collect::<Result<_, _>>()?,
            order: schedule.order(),
        })
    }

    /// Publish the counts of a self-paced port.
    pub(crate) fn publish_counts(&self, sent: &[u64], shared: &SharedCounters) {
        let mut counts = vec![0; self.series_sent.len()];
        self.streams.iter().zip(sent).for_each(|(state, sent)| counts[state.series as usize] += sent);
        for ((series, _), sent) in self.series_sent.iter().zip(counts) {
            shared.offered[*series].store(sent, Relaxed);
        }
    }

    /// Apply the final report of a self-paced port.
    pub(crate) fn apply_report(&mut self, report: &Report, shared: &SharedCounters) {
        self.set_end(shared.end_ns.load(Relaxed));
        self.publish_counts(&report.sent, shared);
        self.streams.iter_mut().zip(&report.sent).for_each(|(state, sent)| state.sent = *sent);
        self.times.apply_report(report);
        self.done = true;
    }

    /// Send due frames, at most a batch; return how many were sent.
    #[inline]
    pub(crate) fn send_due<T: Transmit>(
        &mut self,
        port: &mut T,
        clock: &impl Clock,
        shared: &SharedCounters,
    ) -> Result<u64, PortError> {
        let Some(now_ns) = clock.steady_ns().checked_sub(shared.start_ns) else { return Ok(0) };
        self.set_end(shared.end_ns.load(Relaxed));
        self.times.poll(now_ns);
        let is_complete = self.next >= self.current().pacer.intended_count();
        if is_complete || now_ns > self.pace.phases.end_ns + self.grace_ns(shared) {
            self.done = true;
            shared.sending.fetch_sub(1, Relaxed);
            return Ok(0);
        }
        if now_ns < self.next_due_ns {
            return Ok(0);
        }
        if self.pace.is_burst {
            self.move_timetable(now_ns, shared);
        } else {
            self.skip_overdue(now_ns, shared);
        }
        let due = self.current().due_count(now_ns).saturating_sub(self.next).min(port.batch_max());
        if due == 0 {
            return Ok(0);
        }
        let late_ns = now_ns.saturating_sub(self.next_due_ns);
        shared.note_lateness(late_ns);
        let sent = self.send(port, due as usize, clock.wall_ns())?;
        if sent > 0 {
            self.times.sent(sent, late_ns, now_ns, clock.steady_ns() - shared.start_ns);
            self.advance(sent);
            self.publish(shared);
        }
        Ok(sent)
    }

    /// Return the time after the end in which frames due by then are still sent, in nanoseconds. If no frame may go
    /// unsent, the time that other work kept the sender off its CPU prolongs it, up to the catch-up limit.
    #[inline]
    fn grace_ns(&self, shared: &SharedCounters) -> u64 {
        let grace_ns = shared.grace_ns.load(Relaxed);
        let may_go_unsent = grace_ns <= TrialRequest::END_GRACE_NS;
        let off_cpu_ns = if may_go_unsent { 0 } else { self.times.off_cpu_ns().min(self.pace.catch_up_max_ns) };
        grace_ns + off_cpu_ns
    }

    /// Shorten or extend the schedule to frames due before `end_ns`.
    #[inline]
    fn set_end(&mut self, end_ns: u64) {
        if end_ns != self.pace.phases.end_ns {
            self.pace.phases.set_end(end_ns, self.phase);
        }
    }

    #[inline]
    fn current(&self) -> &SendPhase {
        self.pace.phases.at(self.phase)
    }

    /// Move the rest of a burst's timetable if the sender was held up.
    #[inline]
    fn move_timetable(&mut self, now_ns: u64, shared: &SharedCounters) {
        let Some(burst) = &mut self.times.burst else { return };
        let delay_ns = burst.delay(now_ns - self.next_due_ns);
        if delay_ns > 0 {
            self.next_due_ns += delay_ns;
            self.pace.phases.delay(self.phase, delay_ns);
            shared.shift_ns.fetch_max(burst.shift_ns(), Relaxed);
        }
    }

    /// Skip frames due longer ago than the catch-up limit.
    #[inline]
    fn skip_overdue(&mut self, now_ns: u64, shared: &SharedCounters) {
        while now_ns > self.next_due_ns + self.pace.catch_up_max_ns {
            let skipped = self.current().due_count(now_ns - self.pace.catch_up_max_ns).saturating_sub(self.next);
            if skipped == 0 {
                return;
            }
            self.times.skip(skipped);
            shared.unsent.fetch_add(skipped, Relaxed);
            self.advance(skipped);
        }
    }

    #[inline]
    fn advance(&mut self, count: u64) {
        self.next += count;
        while self.next >= self.current().pacer.intended_count() && !self.pace.phases.is_last(self.phase) {
            self.begin_next_phase();
        }
        self.next_due_ns = self.current().departure_ns(self.next);
    }

    #[cold]
    fn begin_next_phase(&mut self) {
        self.phase += 1;
        (self.next, self.order_index) = (0, 0);
        let sent = self.streams.iter().map(|state| state.sent).collect();
        self.phase_begins.push((self.current().number, sent));
    }

    fn send<T: Transmit>(&mut self, port: &mut T, count: usize, time_ns: u64) -> Result<u64, PortError> {
        let (mut order_index, mut filled) = (self.order_index, 0);
        let completer = Completer {
            streams: &mut self.streams,
            slot_states: &mut self.slot_states,
            order: self.pace.phases.at(self.phase).schedule.order(),
            order_index: &mut order_index,
            filled: &mut filled,
            time_ns,
            trial_tag: self.pace.trial_tag,
        };
        let sent = port.transmit(count, self.frame_len_max, completer)?;
        self.account_sent(sent, filled);
        Ok(sent as u64)
    }

    /// Count the sent frames of the last call by series, and take back those that were filled but not sent.
    #[inline]
    fn account_sent(&mut self, sent: usize, filled: usize) {
        if self.streams.len() == 1 {
            self.streams[0].sent -= (filled - sent) as u64;
            self.series_sent[0].1 += sent as u64;
            return;
        }
        let order = self.pace.phases.at(self.phase).schedule.order();
        let mut order_index = self.order_index;
        for position in 0..filled {
            let state = &mut self.streams[order[order_index] as usize];
            order_index = if order_index + 1 == order.len() { 0 } else { order_index + 1 };
            if position < sent {
                self.series_sent[state.series as usize].1 += 1;
                self.order_index = order_index;
            } else {
                state.sent -= 1;
            }
        }
    }

    #[inline]
    fn publish(&self, shared: &SharedCounters) {
        for (series, sent) in &self.series_sent {
            shared.offered[*series].store(*sent, Relaxed);
        }
    }
}

/// Completes the frames of one call.
struct Completer<'l, 'a> {
    streams: &'l mut [StreamState<'a>],
    slot_states: &'l mut [SlotState],
    order: &'l [u32],
    /// Index in `order` of the next frame.
    order_index: &'l mut usize,
    /// Number of frames completed.
    filled: &'l mut usize,
    time_ns: u64,
    trial_tag: u8,
}

impl Fill for Completer<'_, '_> {
    #[inline(always)]
    fn fill(&mut self, position: usize, slot: Slot<'_>) -> usize {
        let state = &mut self.streams[self.order[*self.order_index] as usize];
        *self.order_index = if *self.order_index + 1 == self.order.len() { 0 } else { *self.order_index + 1 };
        *self.filled = position + 1;
        let (size, template) = match state.single {
            Some(template) => (0, template),
            None => state.frames.template(state.sent),
        };
        let tag = state.tag + size as u32;
        let frame_len = template.bytes().len();
        let frame = &mut slot.bytes[..frame_len];
        if *slot.tag != tag {
            frame.copy_from_slice(template.bytes());
            *slot.tag = tag;
        }
        template.complete(&mut self.slot_states[tag as usize], frame, state.sent, self.time_ns, self.trial_tag);
        state.sent += 1;
        frame_len
    }
}

/// Return a stream's frame for a self-paced port, or the reason why it is unsupported.
pub(crate) fn frame(frames: &Frames) -> Result<Frame<'_>, String> {
    let [template] = frames.templates() else {
        return Err(format!("frames of several sizes, or different frames of a file, {USER_SPACE_ONLY}"));
    };
    let program = template.field_program().ok_or_else(|| {
        format!("fields from a list, random fields, fields that restart early and checksums within checksums {USER_SPACE_ONLY}")
    })?;
    Ok(Frame { bytes: template.bytes(), mark_at: template.signature_offset(), program })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // clippy.toml excuses #[test] functions, not what they call
mod tests {
    use super::*;
    use nodrop_model::{BurstTimes, LoadPattern, LoadPhase, StreamSpec};
    use std::sync::atomic::AtomicU64;

    /// A clock at a set time.
    struct SetClock(AtomicU64);

    impl Clock for SetClock {
        fn steady_ns(&self) -> u64 {
            self.0.load(Relaxed)
        }

        fn wall_ns(&self) -> u64 {
            self.steady_ns()
        }
    }

    /// A port that takes up to a number of frames of each call.
    struct LimitedTx(usize);

    impl Transmit for LimitedTx {
        fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
            let mut bytes = vec![0; frame_len_max];
            for position in 0..count {
                fill.fill(position, Slot { bytes: &mut bytes, tag: &mut { u32::MAX } });
            }
            Ok(count.min(self.0))
        }
    }

    const FRAME_COUNT: u64 = 200;
    const END_NS: u64 = 1_000_000_000;

    fn frames() -> Frames {
        Frames::new(&StreamSpec::udp(0, 0, 1, 64, 1)).unwrap()
    }

    /// Create the lane of a burst.
    fn lane(frames: &Frames, load_pps: f64) -> SendLane<'_> {
        let loads_pps = [load_pps];
        let end_ns = (FRAME_COUNT as f64 / load_pps * 1e9) as u64;
        let phase = LoadPhase { begin_ns: 0, end_ns, loads_pps: &loads_pps };
        let mut phases = SendPhases::new(&[phase], &[0], &LoadPattern::Flat, 0);
        phases.end_ns = END_NS;
        let pace = Pace { phases, catch_up_max_ns: 20_000_000, is_burst: true, trial_tag: 1 };
        SendLane::new(&[OutgoingStream { stream: 0, frames, series: 0 }], pace)
    }

    /// The frames of each poll of a burst's sender, and its times.
    struct Sent {
        counts: Vec<u64>,
        burst: BurstTimes,
    }

    impl Sent {
        fn total(&self) -> u64 {
            self.counts.iter().sum()
        }
    }

    /// Poll the lane of a burst at these times until it is done; the end of sending is brought forward to `end_ns`
    /// shortly before it.
    fn send(load_pps: f64, polls_ns: impl IntoIterator<Item = u64>, end_ns: u64, frame_max: usize) -> Sent {
        let (frames, mut port) = (frames(), LimitedTx(frame_max));
        let mut lane = lane(&frames, load_pps);
        let (clock, shared) = (SetClock(AtomicU64::new(0)), SharedCounters::new(0, END_NS, 1, 1));
        let poll = |now_ns| {
            clock.0.store(now_ns, Relaxed);
            if now_ns + 100_000 >= end_ns {
                shared.end_ns.store(end_ns, Relaxed);
            }
            (!lane.is_done()).then(|| lane.send_due(&mut port, &clock, &shared).unwrap())
        };
        let counts = polls_ns.into_iter().map_while(poll).collect();
        assert!(lane.is_done() && shared.sending.load(Relaxed) == 0);
        let burst = lane.times.summary(0).burst.unwrap();
        assert_eq!(shared.shift_ns.load(Relaxed), burst.shift_ns);
        let sent_until_ns = (FRAME_COUNT as f64 / load_pps * 1e9) as u64 + burst.shift_ns;
        if end_ns == END_NS {
            assert!(lane.intended_counts(sent_until_ns).eq([(0, FRAME_COUNT)]));
        }
        Sent { counts, burst }
    }

    fn every(step_us: u64) -> impl Iterator<Item = u64> {
        (0..).map(move |poll| poll * step_us * 1000)
    }

    #[test]
    fn a_burst_is_over_with_its_last_frame() {
        let sent = send(20_000.0, every(10), END_NS, usize::MAX);
        let (last_sent_ns, gap_max_ns) = (199 * 50_000, 50_000);
        let burst = BurstTimes { first_sent_ns: 0, last_sent_ns, gap_max_ns, ahead_max_count: 0, shift_ns: 0 };
        assert_eq!((sent.total(), sent.burst), (FRAME_COUNT, burst));
    }

    #[test]
    fn a_burst_whose_sender_is_held_up_goes_on_at_its_load_and_catches_up_with_two_frames() {
        let held_up = every(10).filter(|now_ns| !(3_000_001..15_000_000).contains(now_ns));
        let sent = send(20_000.0, held_up, END_NS, usize::MAX);
        assert_eq!((sent.total(), sent.counts.iter().max()), (FRAME_COUNT, Some(&3)));
        let burst = sent.burst;
        // Frame 61 was due at 3.05 ms, and left at 15 ms with the next two.
        assert_eq!((burst.gap_max_ns, burst.shift_ns), (12_000_000, 11_850_000));
        assert_eq!((burst.last_sent_ns, burst.ahead_max_count), (199 * 50_000 + 11_850_000, 2));
    }

    #[test]
    fn polls_that_are_late_by_less_than_a_frame_interval_do_not_slow_a_burst() {
        let sent = send(20_000.0, every(30), END_NS, usize::MAX);
        let burst = sent.burst;
        assert_eq!((sent.total(), burst.shift_ns, burst.ahead_max_count), (FRAME_COUNT, 0, 0));
        assert!((199 * 50_000..199 * 50_000 + 30_000).contains(&burst.last_sent_ns));
    }

    #[test]
    fn frames_of_10_us_may_leave_at_once_and_no_more() {
        let sent = send(1e6, every(10), END_NS, usize::MAX);
        let burst = sent.burst;
        assert_eq!((sent.total(), sent.counts.iter().max(), burst.shift_ns), (FRAME_COUNT, Some(&10), 0));
        assert_eq!(burst.ahead_max_count, 9);
        let sent = send(1e6, every(20), END_NS, usize::MAX);
        assert_eq!((sent.total(), sent.counts.iter().max()), (FRAME_COUNT, Some(&11)));
        assert_eq!(sent.burst.ahead_max_count, 10);
    }

    #[test]
    fn a_port_that_takes_fewer_frames_delays_a_burst_as_well() {
        // One frame in 10 us, while one is due every 2 us.
        let sent = send(500_000.0, every(10), END_NS, 1);
        let burst = sent.burst;
        assert_eq!((sent.total(), burst.last_sent_ns), (FRAME_COUNT, 199 * 10_000));
        assert!(burst.shift_ns > 1_500_000);
    }

    #[test]
    fn a_burst_ends_without_its_last_frames_if_the_sender_gets_no_cpu() {
        let stuck = every(10).take(500).chain([END_NS + TrialRequest::END_GRACE_NS + 1]);
        let sent = send(20_000.0, stuck, END_NS, usize::MAX);
        assert_eq!(sent.total(), 100);
    }

    #[test]
    fn an_early_end_of_a_burst_leaves_out_frames_that_are_due_later_in_its_moved_timetable() {
        let held_up = every(10).filter(|now_ns| !(3_000_001..15_000_000).contains(now_ns));
        let sent = send(20_000.0, held_up, 17_000_000, usize::MAX);
        // 61 frames until the sender is held up, two to catch up, and 40 in 2 ms.
        assert_eq!(sent.total(), 103);
    }

    #[test]
    fn a_burst_cannot_be_sent_from_the_kernel() {
        let message = lane(&frames(), 1000.0).timetable(EgressPort { interface_index: 0 }).unwrap_err();
        assert!(message.starts_with("a burst cannot be sent from the kernel; use a back end"), "{message}");
    }
}

//! One port's streams on their way out, taken in turn by one timetable.

use nodrop_model::CATCH_UP_MAX_S;
use nodrop_port::clock::Clock;
use nodrop_port::paced::{Exit, Report, Timetable};
use nodrop_port::{Fill, PortError, Slot, Transmit};
use nodrop_wire::{Frames, Lasting, Template};
use std::sync::atomic::Ordering::Relaxed;

use crate::paced;
use crate::pacer::Pacer;
use crate::progress::Progress;
use crate::schedule::Schedule;
use crate::send_times::SendTimes;

/// What was due by the end of a trial still leaves for so long after it.
const END_GRACE_NS: u64 = (CATCH_UP_MAX_S * 1e9) as u64;

/// A stream that leaves by this port.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    /// Its position among all streams.
    pub(crate) stream: usize,
    pub(crate) frames: &'a Frames,
    pub(crate) load_pps: f64,
    /// Which of the trial's groups counts it.
    pub(crate) group: usize,
}

#[derive(Debug)]
struct Course<'a> {
    frames: &'a Frames,
    /// Its template, where it has one size.
    only: Option<&'a Template>,
    stream: u32,
    /// What slots are marked with that hold its first template; those that hold its others follow.
    tag: u32,
    /// Place of its group in `SendLane::groups`.
    group: u32,
    /// Frames sent, and so the next one's sequence number.
    sent: u64,
}

/// How a lane is paced and marked.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    pub(crate) pacer: Pacer,
    /// When `pacer` ends, since the trial's start.
    pub(crate) end_ns: u64,
    pub(crate) catch_up_max_ns: u64,
    pub(crate) trial_tag: u8,
}

/// The streams of one sending port.
#[derive(Debug)]
pub(crate) struct SendLane<'a> {
    pace: Pace,
    courses: Vec<Course<'a>>,
    /// Of each template, by tag.
    lasting: Vec<Lasting>,
    schedule: Schedule,
    /// Place in the schedule's order of the next frame.
    turn: usize,
    frame_len_max: usize,
    /// The next frame in the timetable: frames sent, and those whose time went by.
    next: u64,
    next_due_ns: u64,
    /// Groups of the trial and the frames sent for each.
    groups: Vec<(usize, u64)>,
    pub(crate) times: SendTimes,
    done: bool,
}

impl<'a> SendLane<'a> {
    pub(crate) fn new(streams: &[Outgoing<'a>], pace: Pace) -> Self {
        let mut groups: Vec<(usize, u64)> = streams.iter().map(|stream| (stream.group, 0)).collect();
        groups.sort_unstable();
        groups.dedup();
        let place = |group| groups.partition_point(|(known, _)| *known < group) as u32;
        let mut next_tag = 0;
        let course = |stream: &Outgoing<'a>| {
            let tag = next_tag;
            next_tag += stream.frames.templates().len() as u32;
            let only = if let [only] = stream.frames.templates() { Some(only) } else { None };
            let (stream_index, group) = (stream.stream as u32, place(stream.group));
            Course { frames: stream.frames, only, stream: stream_index, tag, group, sent: 0 }
        };
        Self {
            courses: streams.iter().map(course).collect(),
            lasting: streams.iter().flat_map(|stream| stream.frames.templates()).map(Template::lasting).collect(),
            schedule: Schedule::new(&streams.iter().map(|stream| stream.load_pps).collect::<Vec<_>>()),
            turn: 0,
            frame_len_max: streams.iter().map(|stream| stream.frames.frame_len_max()).max().unwrap_or(0),
            next: 0,
            next_due_ns: pace.pacer.departure_ns(0),
            groups,
            times: SendTimes::new(pace.catch_up_max_ns),
            done: false,
            pace,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// When the next frame is due, since the trial's start.
    pub(crate) fn next_due_ns(&self) -> u64 {
        self.next_due_ns
    }

    /// Frames sent, by position of their stream among all.
    pub(crate) fn sent_counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.courses.iter().map(|course| (course.stream as usize, course.sent))
    }

    /// Frames asked for until `end_ns`, by position of their stream among all.
    pub(crate) fn intended_counts(&self, end_ns: u64) -> impl Iterator<Item = (usize, u64)> {
        let turns = self.schedule.turns(self.pace.pacer.until(end_ns).intended_count());
        self.courses.iter().map(|course| course.stream as usize).zip(turns)
    }

    pub(crate) fn trial_tag(&self) -> u8 {
        self.pace.trial_tag
    }

    /// All of it, for a port that keeps its timetable by itself; or why that cannot be.
    pub(crate) fn timetable(&self, exit: Exit) -> Result<Timetable<'_>, String> {
        Ok(Timetable {
            exit,
            load_pps: self.pace.pacer.even_load_pps().ok_or(
                "xdp_live sends evenly, another pattern was asked; choose af_xdp or af_packet, or the flat pattern",
            )?,
            frame_count: self.pace.pacer.intended_count(),
            catch_up_max_ns: self.pace.catch_up_max_ns,
            frames: self.courses.iter().map(|course| paced::frame(course.frames)).collect::<Result<_, _>>()?,
            order: self.schedule.order(),
        })
    }

    /// Let the conductor see what a port that keeps its timetable by itself has sent of each stream so far.
    pub(crate) fn publish_as(&self, sent: &[u64], progress: &Progress) {
        let mut groups = vec![0; self.groups.len()];
        self.courses.iter().zip(sent).for_each(|(course, sent)| groups[course.group as usize] += sent);
        for ((group, _), sent) in self.groups.iter().zip(groups) {
            progress.offered[*group].0.store(sent, Relaxed);
        }
    }

    /// Take over what such a port reports in the end.
    pub(crate) fn adopt(&mut self, report: &Report, progress: &Progress) {
        self.publish_as(&report.sent, progress);
        self.courses.iter_mut().zip(&report.sent).for_each(|(course, sent)| course.sent = *sent);
        self.times.adopt(report);
        self.done = true;
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
        self.times.look(now_ns);
        if self.next >= self.pace.pacer.intended_count() || now_ns > self.pace.end_ns + END_GRACE_NS {
            self.done = true;
            progress.sending.fetch_sub(1, Relaxed);
            return Ok(0);
        }
        if now_ns < self.next_due_ns {
            return Ok(0);
        }
        self.let_go(now_ns);
        let due = self.pace.pacer.due_count(now_ns).saturating_sub(self.next).min(port.batch_max());
        if due == 0 {
            return Ok(0);
        }
        let late_ns = now_ns.saturating_sub(self.next_due_ns);
        let sent = self.send(port, due as usize, clock.wall_ns())?;
        if sent > 0 {
            self.times.sent(sent, late_ns, now_ns, clock.steady_ns() - progress.start_ns);
            self.advance(sent);
            self.publish(progress);
        }
        Ok(sent)
    }

    /// Send only what is due until then.
    #[inline]
    fn end_at(&mut self, end_ns: u64) {
        if end_ns != self.pace.end_ns {
            self.pace.end_ns = end_ns;
            self.pace.pacer = self.pace.pacer.until(end_ns);
        }
    }

    /// Frames due longer ago than may be caught up are never sent.
    #[inline]
    fn let_go(&mut self, now_ns: u64) {
        if now_ns - self.next_due_ns <= self.pace.catch_up_max_ns {
            return;
        }
        let gone = self.pace.pacer.due_count(now_ns - self.pace.catch_up_max_ns).saturating_sub(self.next);
        self.times.let_go(gone);
        self.advance(gone);
    }

    #[inline]
    fn advance(&mut self, count: u64) {
        self.next += count;
        self.next_due_ns = self.pace.pacer.departure_ns(self.next);
    }

    fn send<T: Transmit>(&mut self, port: &mut T, count: usize, time_ns: u64) -> Result<u64, PortError> {
        let (mut turn, mut filled) = (self.turn, 0);
        let completer = Completer {
            courses: &mut self.courses,
            lasting: &mut self.lasting,
            order: self.schedule.order(),
            turn: &mut turn,
            filled: &mut filled,
            time_ns,
            trial_tag: self.pace.trial_tag,
        };
        let sent = port.transmit(count, self.frame_len_max, completer)?;
        self.settle(sent, filled);
        Ok(sent as u64)
    }

    /// Count the frames of the last call by group, and take back those that were filled and did not leave.
    #[inline]
    fn settle(&mut self, sent: usize, filled: usize) {
        if self.courses.len() == 1 {
            self.courses[0].sent -= (filled - sent) as u64;
            self.groups[0].1 += sent as u64;
            return;
        }
        let order = self.schedule.order();
        let mut turn = self.turn;
        for position in 0..filled {
            let course = &mut self.courses[order[turn] as usize];
            turn = if turn + 1 == order.len() { 0 } else { turn + 1 };
            if position < sent {
                self.groups[course.group as usize].1 += 1;
                self.turn = turn;
            } else {
                course.sent -= 1;
            }
        }
    }

    #[inline]
    fn publish(&self, progress: &Progress) {
        for (group, sent) in &self.groups {
            progress.offered[*group].0.store(*sent, Relaxed);
        }
    }
}

/// Completes the frames of one call.
struct Completer<'l, 'a> {
    courses: &'l mut [Course<'a>],
    lasting: &'l mut [Lasting],
    order: &'l [u32],
    /// Place in `order` of the next frame.
    turn: &'l mut usize,
    /// Frames completed.
    filled: &'l mut usize,
    time_ns: u64,
    trial_tag: u8,
}

impl Fill for Completer<'_, '_> {
    #[inline(always)]
    fn fill(&mut self, position: usize, slot: Slot<'_>) -> usize {
        let course = &mut self.courses[self.order[*self.turn] as usize];
        *self.turn = if *self.turn + 1 == self.order.len() { 0 } else { *self.turn + 1 };
        *self.filled = position + 1;
        let (size, template) = match course.only {
            Some(template) => (0, template),
            None => course.frames.of(course.sent),
        };
        let tag = course.tag + size as u32;
        let frame_len = template.bytes().len();
        let frame = &mut slot.bytes[..frame_len];
        if *slot.tag != tag {
            frame.copy_from_slice(template.bytes());
            *slot.tag = tag;
        }
        template.complete(&mut self.lasting[tag as usize], frame, course.sent, self.time_ns, self.trial_tag);
        course.sent += 1;
        frame_len
    }
}

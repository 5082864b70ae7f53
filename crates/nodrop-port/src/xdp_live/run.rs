//! One sitting: the program runs in a system call of this thread, another thread watches and ends it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::program;
use super::report::{of_lane, report, sent};
use super::tables::{LANE_NUMBERS, LANES_AT, NUMBERS, check, fill, lane};
use crate::bpf::{LiveRun, Map, SharedValues};
use crate::clock::{Clock, SystemClock};
use crate::paced::{Report, Sitting, Timetable};
use crate::{PortError, host, thread};

/// Program runs of a system call at most; when they are used up, another one follows.
const REPEAT: u32 = 4_000_000_000;
/// How often the watching thread looks.
const LOOK_NS: u64 = 1_000_000;
/// A program that has not ended by itself so long after its time is ended.
const OVERDUE_NS: u64 = 100_000_000;
/// Below this many frames per second they leave a few at a time, so that none waits for its neighbours.
const SMALL_BATCH_PPS: f64 = 1.2e6;

/// See [`crate::paced::send`].
pub(crate) fn send(
    timetables: &[Timetable<'_>],
    sitting: Sitting<'_>,
    heard: &(dyn Fn(usize, &[u64]) + Sync),
) -> Result<Vec<Report>, PortError> {
    check(timetables)?;
    let Some(first) = timetables.iter().find_map(|timetable| timetable.frames.first()) else { return Ok(Vec::new()) };
    let (map, values) = Map::shared(NUMBERS)?;
    let program = program::load(&map, first, timetables.len())?;
    fill(&values, timetables, sitting);
    let interfaces: Vec<String> = timetables.iter().map(|one| host::interface_name(one.exit.interface_index)).collect();
    let before: Vec<_> = interfaces.iter().map(|name| host::interface_sent(name)).collect();
    let load_pps: f64 = timetables.iter().map(|timetable| timetable.load_pps).sum();
    let batch = if load_pps < SMALL_BATCH_PPS { 8 } else { 64 };
    let run = LiveRun { frame: first.bytes, repeat: REPEAT, batch };
    let watch = Watch { values: &values, timetables, sitting, heard, over: AtomicBool::new(false) };
    thread::catch_wake_ups();
    let runner = thread::this();
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| watch.until_over(runner));
        let mut ran = Ok(());
        while ran.is_ok() && !watch.is_done() {
            ran = program.run_live(&run);
        }
        watch.over.store(true, Relaxed);
        ran
    });
    ran?;
    let mut reports = watch.reports();
    for ((report, name), before) in reports.iter_mut().zip(&interfaces).zip(before) {
        report.refused_count = refused(&host::interface_sent(name), &before, report.sent.iter().sum());
    }
    Ok(reports)
}

/// Frames that an interface would not take: it says so, or does not count them at all.
fn refused(after: &host::Sent, before: &host::Sent, sent: u64) -> u64 {
    let dropped = after.drops.saturating_sub(before.drops);
    dropped.max(sent.saturating_sub(after.frames.saturating_sub(before.frames)))
}

/// What the watching thread knows.
struct Watch<'a> {
    values: &'a SharedValues,
    timetables: &'a [Timetable<'a>],
    sitting: Sitting<'a>,
    heard: &'a (dyn Fn(usize, &[u64]) + Sync),
    over: AtomicBool,
}

impl Watch<'_> {
    fn is_done(&self) -> bool {
        let elapsed_ns = SystemClock.steady_ns().saturating_sub(self.sitting.start_ns);
        let last_ns = self.sitting.end_ns.load(Relaxed) + self.sitting.grace_ns + OVERDUE_NS;
        elapsed_ns > last_ns || (0..self.timetables.len()).all(|at| of_lane(self.values, at, lane::DONE) != 0)
    }

    /// Pass on the end and the counts; wake the runner from its system call once the program has nothing left to do.
    fn until_over(&self, runner: thread::Id) {
        while !self.over.load(Relaxed) {
            thread::sleep_ns(LOOK_NS);
            let end_ns = self.sitting.end_ns.load(Relaxed);
            for at in 0..self.timetables.len() {
                self.values[LANES_AT + at * LANE_NUMBERS + lane::END_NS].store(end_ns, Relaxed);
            }
            self.each_lane(|at, streams| (self.heard)(at, &sent(self.values, streams)));
            if self.is_done() {
                thread::wake(runner);
            }
        }
    }

    fn each_lane(&self, mut visit: impl FnMut(usize, std::ops::Range<usize>)) {
        let mut begin = 0;
        for (at, timetable) in self.timetables.iter().enumerate() {
            visit(at, begin..begin + timetable.frames.len());
            begin += timetable.frames.len();
        }
    }

    fn reports(&self) -> Vec<Report> {
        let mut reports = Vec::new();
        self.each_lane(|at, streams| reports.push(report(self.values, at, streams)));
        reports
    }
}

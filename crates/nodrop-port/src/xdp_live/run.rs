//! Execution of a timetable: the program runs in a system call of this thread, a monitor thread ends it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::program;
use super::report::{lane_number, progress, report};
use super::tables::{LANE_NUMBERS, LANES_AT, NUMBERS, check, fill, lane};
use crate::bpf::{LiveRun, Map, SharedValues};
use crate::clock::{Clock, SystemClock};
use crate::timetable::{Progress, Report, Timetable, TrialWindow};
use crate::{PortError, host, thread};

/// Maximum number of program runs per system call; further calls follow.
const REPEAT: u32 = 4_000_000_000;
/// Polling interval of the monitor thread.
const POLL_NS: u64 = 1_000_000;
/// Time after the end at which the monitor ends a program that is still running.
const OVERDUE_NS: u64 = 100_000_000;
/// Load below which batches are small, so that frames do not wait for their neighbors.
const SMALL_BATCH_PPS: f64 = 1.2e6;

/// Send from all these ports; see [`crate::self_paced::send`].
pub(crate) fn send(
    timetables: &[Timetable<'_>],
    window: TrialWindow<'_>,
    on_progress: &(dyn Fn(usize, &Progress) + Sync),
) -> Result<Vec<Report>, PortError> {
    check(timetables)?;
    let Some(first) = timetables.iter().find_map(|timetable| timetable.frames.first()) else { return Ok(Vec::new()) };
    let (map, values) = Map::create_mapped(NUMBERS)?;
    let program = program::load(&map, first, timetables.len())?;
    fill(&values, timetables, window);
    let interfaces: Vec<String> =
        timetables.iter().map(|one| host::interface_name(one.egress.interface_index)).collect();
    let before: Vec<_> = interfaces.iter().map(|name| host::send_counters(name)).collect();
    let load_pps: f64 = timetables.iter().map(|timetable| timetable.load_pps).sum();
    let batch = if load_pps < SMALL_BATCH_PPS { 8 } else { 64 };
    let run = LiveRun { frame: first.bytes, repeat: REPEAT, batch };
    let monitor = Monitor { values: &values, timetables, window, on_progress, finished: AtomicBool::new(false) };
    thread::install_wake_handler();
    let runner = thread::current();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| monitor.run(runner));
        let mut result = Ok(());
        while result.is_ok() && !monitor.is_done() {
            result = program.run_live(&run);
        }
        monitor.finished.store(true, Relaxed);
        result
    });
    result?;
    let mut reports = monitor.reports();
    for ((report, name), before) in reports.iter_mut().zip(&interfaces).zip(before) {
        report.rejected_count = rejected(&host::send_counters(name), &before, report.sent.iter().sum());
    }
    Ok(reports)
}

/// Return the frames that the interface rejected: it counts them as dropped, or not at all.
fn rejected(after: &host::SendCounters, before: &host::SendCounters, sent: u64) -> u64 {
    let dropped = after.drops.saturating_sub(before.drops);
    dropped.max(sent.saturating_sub(after.frames.saturating_sub(before.frames)))
}

/// State of the monitor thread.
struct Monitor<'a> {
    values: &'a SharedValues,
    timetables: &'a [Timetable<'a>],
    window: TrialWindow<'a>,
    on_progress: &'a (dyn Fn(usize, &Progress) + Sync),
    finished: AtomicBool,
}

impl Monitor<'_> {
    fn is_done(&self) -> bool {
        let elapsed_ns = SystemClock.steady_ns().saturating_sub(self.window.start_ns);
        let last_ns = self.window.end_ns.load(Relaxed) + self.window.grace_ns.load(Relaxed) + OVERDUE_NS;
        elapsed_ns > last_ns || (0..self.timetables.len()).all(|at| lane_number(self.values, at, lane::DONE) != 0)
    }

    /// Forward the end time and report the counts; wake the runner from its system call once the program is done.
    fn run(&self, runner: thread::ThreadId) {
        // Also forwards an end that changed before this thread started.
        let mut last_end_ns = 0;
        while !self.finished.load(Relaxed) {
            thread::sleep_ns(POLL_NS);
            let end_ns = self.window.end_ns.load(Relaxed);
            if end_ns != last_end_ns {
                self.set_end(end_ns, end_ns > last_end_ns);
                last_end_ns = end_ns;
            }
            let elapsed_ns = SystemClock.steady_ns().saturating_sub(self.window.start_ns);
            self.each_lane(|at, streams| (self.on_progress)(at, &progress(self.values, at, streams, elapsed_ns)));
            if self.is_done() {
                thread::wake(runner);
            }
        }
    }

    fn set_end(&self, end_ns: u64, is_later: bool) {
        for (at, timetable) in self.timetables.iter().enumerate() {
            let set = |number: usize, value: u64| {
                self.values[LANES_AT + at * LANE_NUMBERS + number].store(value, Relaxed);
            };
            if is_later {
                set(lane::FRAME_COUNT, timetable.frame_count_by(end_ns));
            }
            set(lane::GRACE_NS, self.window.grace_ns.load(Relaxed));
            set(lane::END_NS, end_ns);
            if is_later {
                // The earlier end may have passed; the program finds out again whether it is done.
                set(lane::DONE, 0);
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

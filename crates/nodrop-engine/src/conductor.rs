//! Watches a running trial: looks often, applies the stop rule, closes windows, waits for frames in flight.

use nodrop_model::{DRAIN_MAX_S, StopClause, StopRule, Window, Windows};
use nodrop_port::clock::Clock;
use nodrop_port::thread;
use std::sync::atomic::Ordering::Relaxed;

use crate::losses::Losses;
use crate::progress::{Progress, Sample};
use crate::trial::Setting;

/// Frames in flight are given up once nothing has arrived for this long.
const QUIET_NS: u64 = 200_000_000;
const DRAIN_STEP_NS: u64 = 5_000_000;
/// An early end is set this far ahead, for all senders to learn of it before it comes.
const END_NOTICE_NS: u64 = 100_000;

/// How sending went, as the conductor saw it.
pub(crate) struct Timeline {
    pub(crate) windows: Windows,
    pub(crate) sent_for_s: f64,
    pub(crate) stopped_early: bool,
    pub(crate) stopped_by: Option<StopClause>,
    pub(crate) aborted: bool,
}

/// Watches a running trial.
pub(crate) struct Conductor<'a, C, F> {
    setting: &'a Setting<'a>,
    clock: &'a C,
    progress: &'a Progress,
    on_window: F,
    last: Vec<Sample>,
    losses: Losses,
    timeline: Timeline,
}

impl<'a, C: Clock, F: FnMut(Window)> Conductor<'a, C, F> {
    pub(crate) fn new(setting: &'a Setting<'a>, clock: &'a C, progress: &'a Progress, on_window: F) -> Self {
        let groups = setting.groups.counted.count();
        let columns = || vec![Vec::new(); groups];
        let timeline = Timeline {
            windows: Windows {
                series: setting.groups.counted.series().to_vec(),
                end_s: Vec::new(),
                offered_count: columns(),
                received_count: columns(),
                lost_count: columns(),
            },
            sent_for_s: setting.request.duration_s,
            stopped_early: false,
            stopped_by: None,
            aborted: false,
        };
        let (last, losses) = (vec![Sample::default(); groups], Losses::new(groups));
        Self { setting, clock, progress, on_window, last, losses, timeline }
    }

    /// Until the workers can go home.
    pub(crate) fn watch(&mut self) {
        self.watch_sending();
        self.drain();
        let (now, elapsed_s) = (self.progress.sample(), self.elapsed_ns() as f64 / 1e9);
        self.look(&now, elapsed_s);
        self.close_window(now, elapsed_s);
        self.join_short_end();
        self.progress.stop_receiving.store(true, Relaxed);
    }

    fn watch_sending(&mut self) {
        let window_ns = (self.setting.request.window_s * 1e9) as u64;
        let look_ns = self.setting.look_ns();
        let (mut look_edge_ns, mut window_edge_ns) = (look_ns, window_ns);
        while self.progress.is_sending() {
            self.wait_until(look_edge_ns.min(window_edge_ns));
            if !self.progress.is_sending() {
                break;
            }
            let elapsed_ns = self.elapsed_ns();
            let elapsed_s = elapsed_ns as f64 / 1e9;
            let now = self.progress.sample();
            if elapsed_ns >= look_edge_ns {
                self.look(&now, elapsed_s);
            }
            if elapsed_ns >= window_edge_ns {
                self.close_window(now, elapsed_s);
            }
            self.apply_stop_rule(elapsed_s);
            look_edge_ns = next_edge_ns(look_edge_ns, elapsed_ns, look_ns);
            window_edge_ns = next_edge_ns(window_edge_ns, elapsed_ns, window_ns);
        }
    }

    fn apply_stop_rule(&mut self, elapsed_s: f64) {
        self.timeline.aborted = self.setting.stop.load(Relaxed);
        let fires = |rule: &StopRule| rule.fires(elapsed_s, self.losses.count(), self.losses.first_s());
        let clause = self.setting.request.stop.as_ref().and_then(fires);
        if self.timeline.aborted || clause.is_some() {
            self.stop_sending(clause);
        }
    }

    /// Bring the end of sending forward; what was due by then still leaves, as at any other end.
    fn stop_sending(&mut self, clause: Option<StopClause>) {
        let end_ns = self.elapsed_ns() + END_NOTICE_NS;
        if end_ns < self.setting.duration_ns() {
            self.progress.end_ns.store(end_ns, Relaxed);
            self.timeline.sent_for_s = end_ns as f64 / 1e9;
            self.timeline.stopped_early = true;
            self.timeline.stopped_by = clause;
        }
        while self.progress.is_sending() {
            thread::sleep_ns(10_000);
        }
    }

    /// Wait for what is in flight: until all of it is there, nothing has come for a while, or too long.
    fn drain(&mut self) {
        let begin_ns = self.clock.steady_ns();
        let (mut seen, mut seen_ns) = (Vec::new(), begin_ns);
        loop {
            let now = self.progress.sample();
            let now_ns = self.clock.steady_ns();
            if now.iter().all(|group| group.received >= group.offered) {
                return;
            }
            if now != seen {
                (seen, seen_ns) = (now, now_ns);
            }
            if now_ns - seen_ns > QUIET_NS || now_ns - begin_ns > (DRAIN_MAX_S * 1e9) as u64 {
                return;
            }
            thread::sleep_ns(DRAIN_STEP_NS);
        }
    }

    /// Find what is certainly lost by now.
    fn look(&mut self, now: &[Sample], elapsed_s: f64) {
        self.progress.look.fetch_add(1, Relaxed);
        self.losses.look(&mut self.timeline.windows, now, elapsed_s);
    }

    /// Write down one window and begin the next.
    fn close_window(&mut self, now: Vec<Sample>, elapsed_s: f64) {
        let windows = &mut self.timeline.windows;
        windows.end_s.push(elapsed_s);
        for (group, (before, now)) in self.last.iter().zip(&now).enumerate() {
            windows.offered_count[group].push(now.offered - before.offered);
            windows.received_count[group].push(now.received - before.received);
        }
        (self.on_window)(Window {
            trial_id: self.setting.request.trial_id,
            elapsed_s,
            offered_count: now.iter().map(|group| group.offered).sum(),
            received_count: now.iter().map(|group| group.received).sum(),
            lost_count: self.losses.count(),
            series_offered_count: now.iter().map(|group| group.offered).collect(),
            series_received_count: now.iter().map(|group| group.received).collect(),
        });
        self.last = now;
    }

    /// A last window in which hardly anything was sent would say nothing by itself.
    fn join_short_end(&mut self) {
        let Windows { end_s, offered_count, received_count, lost_count, .. } = &mut self.timeline.windows;
        while let [.., begin_s, _] = end_s[..]
            && self.timeline.sent_for_s - begin_s < self.setting.request.window_s / 2.0
        {
            end_s.remove(end_s.len() - 2);
            for column in [&mut *offered_count, &mut *received_count, &mut *lost_count].into_iter().flatten() {
                let last = column.pop().unwrap_or(0);
                column.last_mut().into_iter().for_each(|before| *before += last);
            }
        }
    }

    fn elapsed_ns(&self) -> u64 {
        self.clock.steady_ns().saturating_sub(self.progress.start_ns)
    }

    fn wait_until(&self, edge_ns: u64) {
        let now_ns = self.clock.steady_ns();
        thread::sleep_ns((self.progress.start_ns + edge_ns).saturating_sub(now_ns));
    }

    pub(crate) fn finish(self) -> Timeline {
        self.timeline
    }
}

/// The next of the edges every `step_ns` that is not past.
fn next_edge_ns(edge_ns: u64, elapsed_ns: u64, step_ns: u64) -> u64 {
    if elapsed_ns < edge_ns { edge_ns } else { edge_ns + step_ns * (1 + (elapsed_ns - edge_ns) / step_ns) }
}

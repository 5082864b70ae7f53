//! Watches a running trial: closes its windows, applies the stop rule, waits for frames in flight.

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
        let streams = progress.streams.len();
        let columns = || vec![Vec::new(); streams];
        let timeline = Timeline {
            windows: Windows {
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
        let (last, losses) = (vec![Sample::default(); streams], Losses::new(streams));
        Self { setting, clock, progress, on_window, last, losses, timeline }
    }

    /// Until the workers can go home.
    pub(crate) fn watch(&mut self) {
        self.watch_sending();
        self.drain();
        self.close_window();
        self.join_short_end();
        self.progress.stop_receiving.store(true, Relaxed);
    }

    fn watch_sending(&mut self) {
        let window_ns = (self.setting.request.window_s * 1e9) as u64;
        let mut edge_ns = window_ns;
        while self.progress.is_sending() {
            self.wait_until(edge_ns);
            edge_ns += window_ns * (1 + self.elapsed_ns().saturating_sub(edge_ns) / window_ns);
            if self.progress.is_sending() {
                let elapsed_s = self.close_window();
                self.apply_stop_rule(elapsed_s);
            }
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
            if now.iter().all(|stream| stream.received >= stream.offered) {
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

    /// Write down one window and begin the next; gives when.
    fn close_window(&mut self) -> f64 {
        let now = self.progress.sample();
        self.progress.window.fetch_add(1, Relaxed);
        let elapsed_s = self.elapsed_ns() as f64 / 1e9;
        let windows = &mut self.timeline.windows;
        windows.end_s.push(elapsed_s);
        for (stream, (before, now)) in self.last.iter().zip(&now).enumerate() {
            windows.offered_count[stream].push(now.offered - before.offered);
            windows.received_count[stream].push(now.received - before.received);
        }
        self.losses.close_window(windows, &now);
        (self.on_window)(Window {
            trial_id: self.setting.request.trial_id,
            elapsed_s,
            offered_count: now.iter().map(|stream| stream.offered).sum(),
            received_count: now.iter().map(|stream| stream.received).sum(),
            lost_count: self.losses.count(),
        });
        self.last = now;
        elapsed_s
    }

    /// A last window in which hardly anything was sent would say nothing by itself.
    fn join_short_end(&mut self) {
        let Windows { end_s, offered_count, received_count, lost_count } = &mut self.timeline.windows;
        let [.., begin_s, _] = end_s[..] else { return };
        if self.timeline.sent_for_s - begin_s < self.setting.request.window_s / 2.0 {
            end_s.remove(end_s.len() - 2);
            for column in [offered_count, received_count, lost_count].into_iter().flatten() {
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

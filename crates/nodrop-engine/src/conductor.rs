//! Supervision of a running trial: frequent loss checks, stop rule, windows, and the wait for frames in flight.

use nodrop_model::{CpuSpeed, DRAIN_MAX_S, LoadPattern, StopClause, StopRule, TrialRequest, Window, Windows};
use nodrop_port::clock::Clock;
use nodrop_port::thread;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use crate::context::{LossBasis, Timeline, TrialContext};
use crate::disturbance::{SlotEnd, Slots, SpeedSamplers, SpeedWatch, ThreadWatch};
use crate::live_loss::LiveLoss;
use crate::shared_counters::{Sample, SharedCounters};
use crate::starvation::StarvationWatch;
use crate::window_latency::LatencyColumns;

/// Time without arrivals after which frames in flight count as lost.
const QUIET_NS: u64 = 200_000_000;
const DRAIN_STEP_NS: u64 = 5_000_000;
/// Loss checks before the end of sending at which disturbed time postpones the end.
const EXTENSION_CHECKS: u64 = 3;
/// Loss checks by which a trial with disturbed time is longer than that: the last ones may be disturbed, too.
const SPARE_CHECKS: u64 = 4;
/// Time between two reports while the conductor waits for the end of sending or for frames in flight, if the request
/// asks for no longer one. Clients end a silent engine, and other work on the CPU may prolong both waits to seconds.
const WAIT_REPORT_S: f64 = 1.0;
/// Lead time of an early end, so that all senders see it in time.
const END_NOTICE_NS: u64 = 100_000;

/// Supervises a running trial.
pub(crate) struct Conductor<'a, C, F> {
    context: &'a TrialContext<'a>,
    clock: &'a C,
    shared: &'a SharedCounters,
    on_window: F,
    /// Trial time of the last report.
    reported_s: f64,
    last: Vec<Sample>,
    latency: Option<LatencyColumns>,
    losses: LiveLoss,
    /// Separates disturbed time, if requested.
    slots: Option<Slots>,
    /// Opened at the first loss check, when all workers have started.
    watch: Option<ThreadWatch>,
    speeds: SpeedWatch<'a>,
    timeline: Timeline,
}

impl<'a, C: Clock, F: FnMut(Window)> Conductor<'a, C, F> {
    pub(crate) fn new(
        context: &'a TrialContext<'a>,
        clock: &'a C,
        shared: &'a SharedCounters,
        samplers: &'a SpeedSamplers,
        on_window: F,
    ) -> Self {
        let series_count = context.series.counts.count();
        let columns = || vec![Vec::new(); series_count];
        let timeline = Timeline {
            windows: Windows {
                series: context.series.counts.series().to_vec(),
                end_s: Vec::new(),
                offered_count: columns(),
                received_count: columns(),
                lost_count: columns(),
                ..Windows::default()
            },
            sent_for_s: context.request.duration_s,
            stopped_early: false,
            stopped_by: None,
            stop_basis: None,
            aborted: false,
        };
        let (last, losses) = (vec![Sample::default(); series_count], LiveLoss::new(series_count));
        let load_pps = context.request.loads_pps.iter().sum();
        // Of a trial that cannot be extended, too little might remain.
        let TrialRequest { pattern, load_changes, burst, .. } = context.request;
        let is_extensible = matches!(pattern, LoadPattern::Flat) && load_changes.is_empty() && !burst;
        let is_separated = is_extensible && context.request.disturbances.is_some();
        let slots = is_separated.then(|| Slots::new(series_count, load_pps));
        let reported_s = 0.0;
        Self {
            context,
            clock,
            shared,
            on_window,
            reported_s,
            last,
            latency: context.request.window_latency.then(|| LatencyColumns::new(series_count)),
            losses,
            slots,
            watch: None,
            speeds: SpeedWatch::new(samplers),
            timeline,
        }
    }

    /// Supervise the trial until the workers may finish.
    pub(crate) fn run(&mut self) {
        self.supervise_sending();
        if !self.timeline.stopped_early {
            self.timeline.sent_for_s += self.shared.shift_ns.load(Relaxed) as f64 / 1e9;
        }
        self.drain();
        let (now, elapsed_s) = (self.shared.sample(), self.elapsed_ns() as f64 / 1e9);
        self.check_losses(&now, elapsed_s);
        self.close_window(now, elapsed_s);
        self.merge_short_windows();
        self.shared.stop_receiving.store(true, Relaxed);
    }

    fn supervise_sending(&mut self) {
        let window_ns = (self.context.request.window_s * 1e9) as u64;
        let check_ns = self.context.loss_check_ns();
        let (mut check_edge_ns, mut window_edge_ns) = (check_ns, window_ns);
        while self.shared.is_sending() {
            self.wait_until(check_edge_ns.min(window_edge_ns));
            if !self.shared.is_sending() {
                break;
            }
            let elapsed_ns = self.elapsed_ns();
            let elapsed_s = elapsed_ns as f64 / 1e9;
            let now = self.shared.sample();
            if elapsed_ns >= check_edge_ns {
                self.check_losses(&now, elapsed_s);
                self.extend_sending(elapsed_ns);
            }
            if elapsed_ns >= window_edge_ns {
                self.close_window(now, elapsed_s);
            }
            self.apply_stop_rule(elapsed_s);
            check_edge_ns = next_edge_ns(check_edge_ns, elapsed_ns, check_ns);
            window_edge_ns = next_edge_ns(window_edge_ns, elapsed_ns, window_ns);
        }
    }

    fn apply_stop_rule(&mut self, elapsed_s: f64) {
        self.timeline.aborted = self.context.stop.load(Relaxed);
        let first_loss_s = self.losses.first_loss_s();
        let fires = |stop: &StopRule| match (&self.slots, &self.context.request.disturbances) {
            // The rule's times are undisturbed ones, too.
            (Some(slots), Some(rule)) => {
                let left_out_s = slots.disturbed_s().min(rule.extension_max_s);
                let clause = stop.fires(elapsed_s - left_out_s, slots.lost_count(), slots.first_loss_s());
                clause.map(|clause| (clause, LossBasis::Undisturbed)).or_else(|| {
                    let undisturbed_s = elapsed_s - slots.waited_s(elapsed_s);
                    let clause = stop.fires(undisturbed_s, self.own_loss(elapsed_s)?, first_loss_s)?;
                    Some((clause, LossBasis::Own))
                })
            }
            _ => Some((stop.fires(elapsed_s, self.losses.count(), first_loss_s)?, LossBasis::Undisturbed)),
        };
        let (clause, basis) = self.context.request.stop.as_ref().and_then(fires).unzip();
        if self.timeline.aborted || clause.is_some() {
            self.timeline.stop_basis = basis.filter(|_| clause == Some(StopClause::LostCount));
            self.stop_sending(clause);
        }
    }

    /// Return the least number of losses that are the SUT's own, if most are, although most of the time is disturbed.
    fn own_loss(&self, elapsed_s: f64) -> Option<u64> {
        let received = self.shared.sample().iter().map(|series| series.received).sum();
        self.slots.as_ref()?.own_loss(elapsed_s, received, self.losses.count())
    }

    /// Bring the end of sending forward; frames due by then are still sent, as at any other end.
    fn stop_sending(&mut self, clause: Option<StopClause>) {
        let end_ns = self.elapsed_ns() + END_NOTICE_NS;
        if end_ns < self.shared.end_ns.load(Relaxed) {
            // A tester that is too slow for the load would send for as long again.
            self.shared.grace_ns.fetch_min(TrialRequest::END_GRACE_NS, Relaxed);
            self.shared.end_ns.store(end_ns, Relaxed);
            self.timeline.sent_for_s = end_ns as f64 / 1e9;
            self.timeline.stopped_early = true;
            self.timeline.stopped_by = clause;
        }
        while self.shared.is_sending() {
            thread::sleep_ns(10_000);
            self.report_wait();
        }
    }

    /// Postpone the end of sending by the disturbed time so far, shortly before it is reached, if frames are missing.
    /// Without any, the verdict is the same with and without the disturbed time. If hardly any time was undisturbed, more
    /// of the same decides nothing.
    fn extend_sending(&mut self, elapsed_ns: u64) {
        let (Some(slots), Some(rule)) = (&self.slots, &self.context.request.disturbances) else {
            return;
        };
        let end_ns = self.shared.end_ns.load(Relaxed);
        if elapsed_ns + EXTENSION_CHECKS * self.context.loss_check_ns() < end_ns || elapsed_ns >= end_ns {
            return;
        }
        let disturbed_s = slots.disturbed_s();
        if disturbed_s == 0.0 {
            return;
        }
        let spare_s = (SPARE_CHECKS * self.context.loss_check_ns()) as f64 / 1e9;
        let own_loss = self.own_loss(elapsed_ns as f64 / 1e9);
        let is_complete = self.losses.count() == 0 && self.shared.unsent.load(Relaxed) == 0;
        // The losses of a disturbance show only when the frames sent by its end have left the SUT.
        let missing_s = match (is_complete, slots.is_draining()) {
            (true, false) => return,
            (true, true) => elapsed_ns.saturating_sub(self.context.duration_ns()) as f64 / 1e9,
            (false, _) if own_loss.is_some() => slots.waited_s(elapsed_ns as f64 / 1e9),
            (false, _) if disturbed_s > rule.disturbed_ratio_max * elapsed_ns as f64 / 1e9 => return,
            (false, _) => disturbed_s,
        };
        let extension_s = (missing_s + spare_s).min(rule.extension_max_s);
        let extended_ns = self.context.duration_ns() + (extension_s * 1e9) as u64;
        if extended_ns > end_ns {
            self.shared.end_ns.store(extended_ns, Relaxed);
            self.timeline.sent_for_s = extended_ns as f64 / 1e9;
        }
    }

    /// Wait for frames in flight: until all have arrived, none has arrived for a while, or the time limit is reached.
    fn drain(&mut self) {
        let begin_ns = self.clock.steady_ns();
        let (mut last, mut last_ns, mut quiet_ns) = (Vec::new(), begin_ns, 0);
        let mut starvation = StarvationWatch::open(&self.context.request.sut_pids);
        loop {
            let now = self.shared.sample();
            let now_ns = self.clock.steady_ns();
            if now.iter().all(|series| series.received >= series.offered) {
                return;
            }
            // If the whole machine pauses, or other work has its CPU, the SUT has not had that time, either.
            let spent_ns = if starvation.is_starved() { 0 } else { (now_ns - last_ns).min(2 * DRAIN_STEP_NS) };
            quiet_ns = if now == last { quiet_ns + spent_ns } else { 0 };
            (last, last_ns) = (now, now_ns);
            if quiet_ns > QUIET_NS || now_ns - begin_ns > (DRAIN_MAX_S * 1e9) as u64 {
                return;
            }
            thread::sleep_ns(DRAIN_STEP_NS);
            self.report_wait();
        }
    }

    /// Determine the frames that are certainly lost by now.
    fn check_losses(&mut self, now: &[Sample], elapsed_s: f64) {
        self.shared.loss_check.fetch_add(1, Relaxed);
        self.losses.update(&mut self.timeline.windows, now, elapsed_s);
        self.close_slot(now, elapsed_s);
    }

    /// Record whether other work disturbed the time since the last loss check.
    fn close_slot(&mut self, now: &[Sample], elapsed_s: f64) {
        let (Some(slots), Some(rule)) = (&mut self.slots, &self.context.request.disturbances) else { return };
        let late_ns = self.shared.lateness_ns.swap(0, Relaxed);
        let open = || ThreadWatch::open(&self.shared.worker_ids(), &rule.sut_pids);
        let watch = self.watch.get_or_insert_with(open);
        let (waits, steal_ns) = (watch.read(), watch.read_steal_ns());
        let slow_s = {
            let mut histories = self.context.speed_histories.lock().unwrap_or_else(PoisonError::into_inner);
            self.speeds.read_slow_s(elapsed_s, &mut histories)
        };
        // A SUT in the kernel works in the sender's time; one on CPUs of its own cannot delay the sender.
        let (sut_wait_ns, tester_wait_ns) =
            if rule.sut_shares_cpu { (waits.max_ns(), 0) } else { (waits.sut_ns, waits.tester_ns) };
        slots.close(&SlotEnd {
            end_s: elapsed_s,
            now,
            unsent: self.shared.unsent.load(Relaxed),
            lost: self.losses.by_series(),
            window: self.timeline.windows.end_s.len(),
            sut_wait_s: sut_wait_ns.max(steal_ns) as f64 / 1e9,
            slow_s,
            tester_wait_s: tester_wait_ns as f64 / 1e9,
            late_s: if rule.sut_shares_cpu { 0.0 } else { late_ns as f64 / 1e9 },
        });
    }

    /// Record a window and begin the next.
    fn close_window(&mut self, now: Vec<Sample>, elapsed_s: f64) {
        let windows = &mut self.timeline.windows;
        windows.end_s.push(elapsed_s);
        for (index, (before, now)) in self.last.iter().zip(&now).enumerate() {
            windows.offered_count[index].push(now.offered - before.offered);
            windows.received_count[index].push(now.received - before.received);
        }
        if let Some(latency) = &mut self.latency {
            latency.close_window(self.shared);
        }
        // Windows end a little after the edges of their grid.
        if elapsed_s - self.reported_s >= self.context.request.progress_s - self.context.request.window_s / 2.0 {
            self.report_progress(&now, elapsed_s);
        }
        self.last = now;
    }

    /// Report the counts in a wait that takes long.
    fn report_wait(&mut self) {
        let elapsed_s = self.elapsed_ns() as f64 / 1e9;
        if elapsed_s - self.reported_s >= self.context.request.progress_s.max(WAIT_REPORT_S) {
            let now = self.shared.sample();
            self.report_progress(&now, elapsed_s);
        }
    }

    fn report_progress(&mut self, now: &[Sample], elapsed_s: f64) {
        self.reported_s = elapsed_s;
        (self.on_window)(Window {
            trial_id: self.context.request.trial_id,
            elapsed_s,
            offered_count: now.iter().map(|series| series.offered).sum(),
            received_count: now.iter().map(|series| series.received).sum(),
            lost_count: self.losses.count(),
            series_offered_count: now.iter().map(|series| series.offered).collect(),
            series_received_count: now.iter().map(|series| series.received).collect(),
        });
    }

    /// Merge the last windows if hardly any frames were sent in them, because such a window carries no information.
    fn merge_short_windows(&mut self) {
        let Windows { end_s, offered_count, received_count, lost_count, .. } = &mut self.timeline.windows;
        while let [.., begin_s, _] = end_s[..]
            && self.timeline.sent_for_s - begin_s < self.context.request.window_s / 2.0
        {
            end_s.remove(end_s.len() - 2);
            for column in [&mut *offered_count, &mut *received_count, &mut *lost_count].into_iter().flatten() {
                let last = column.pop().unwrap_or(0);
                column.last_mut().into_iter().for_each(|before| *before += last);
            }
            if let Some(latency) = &mut self.latency {
                latency.merge_last();
            }
        }
    }

    fn elapsed_ns(&self) -> u64 {
        self.clock.steady_ns().saturating_sub(self.shared.start_ns)
    }

    fn wait_until(&self, edge_ns: u64) {
        let now_ns = self.clock.steady_ns();
        thread::sleep_ns((self.shared.start_ns + edge_ns).saturating_sub(now_ns));
    }

    /// Return the timeline, the slots, the CPUs of tester and SUT, and their speeds.
    pub(crate) fn finish(mut self) -> (Timeline, Option<Slots>, Vec<usize>, Vec<CpuSpeed>) {
        let cpus = self.watch.as_ref().map(ThreadWatch::cpus).unwrap_or_default();
        self.timeline.windows.latency = self.latency.map(LatencyColumns::finish).unwrap_or_default();
        let histories = self.context.speed_histories.lock().unwrap_or_else(PoisonError::into_inner);
        (self.timeline, self.slots, cpus, self.speeds.speeds(&histories))
    }
}

/// Return the first edge of the grid of `step_ns` that has not passed.
fn next_edge_ns(edge_ns: u64, elapsed_ns: u64, step_ns: u64) -> u64 {
    if elapsed_ns < edge_ns { edge_ns } else { edge_ns + step_ns * (1 + (elapsed_ns - edge_ns) / step_ns) }
}

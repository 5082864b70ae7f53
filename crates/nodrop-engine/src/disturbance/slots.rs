//! Separates the time of a trial in which other work disturbed tester or SUT from the rest. Pure.
//!
//! A trial is a sequence of slots, one per loss check. A disturbance begins before the slot in which its wait ended, by
//! the length of the wait, and ends once the frames that it delayed have left the SUT. The losses of a slot are those
//! of frames that later frames overtook in it.
//!
//! Queues of an overloaded SUT never drain, so that a short wait disturbs all the time until the next. But no wait costs
//! more frames than the SUT forwards in the meantime: a loss far above that is the SUT's own, see `Slots::own_loss`.

use nodrop_model::{DisturbedTime, Windows};
use std::collections::VecDeque;

use crate::shared_counters::Sample;

/// Wait for a CPU in a slot from which on the SUT is disturbed: queues take the frames of shorter waits.
const SUT_WAIT_MAX_S: f64 = 0.0004;
/// Wait for a CPU, or increase of the lateness of frames within a slot, from which on the tester is disturbed. A sender
/// makes up for shorter ones. The lateness of one that is too slow for the load increases little by little.
const TESTER_WAIT_MAX_S: f64 = 0.002;
/// Longest time that a disturbance has an effect after its end; later losses are the SUT's own.
const DRAIN_MAX_S: f64 = 0.25;
/// Share by which frames in flight decrease each second while a queue drains; one that decreases less in `STEADY_S` is as
/// long as the load makes it.
const DRAIN_RATIO_PER_S: f64 = 0.8;
const STEADY_S: f64 = 0.064;
/// Longest time in which a late sender catches up; one that stays late is too slow for the load.
const CATCH_UP_MAX_S: f64 = 0.25;
/// Time of the load that may be in flight at the end of a disturbance.
const IN_FLIGHT_S: f64 = 0.001;
/// Slots whose frames in flight are compared with those at the end of a disturbance.
const IN_FLIGHT_SLOTS: usize = 4;
/// Time after which the state of a slot no longer changes, unless a wait was longer.
const SETTLED_S: f64 = 0.04;
/// Slots until the last losses of a drain are confirmed: a lost frame is overtaken in one and still missing in the next.
const DRAINED_SLOTS: u32 = 2;
/// Time without a frame out of the SUT, although it has its CPU, after which it stopped by itself: neither a disturbance
/// before nor a slow CPU accounts for that.
const STALL_S: f64 = 0.008;
/// Frames that a wait of the SUT costs at most, relative to those that it forwards in the same time without one: its
/// caches are cold after the wait, and waits that are too short to be marked are not counted.
const WAIT_COST: f64 = 2.0;
/// Least speed of a slow CPU relative to its usual one: each of two hardware threads of a core executes at least half of
/// what it does alone.
const SLOW_SPEED: f64 = 0.5;
/// Share of waits and slow time up to which slow time is left out if the loss is bounded.
const SLOW_MAX_RATIO: f64 = 0.5;
/// Share of disturbed time from which on the loss is bounded, and least share of the loss that must then be the SUT's.
const BOUNDED_MIN_RATIO: f64 = 0.2;
const OWN_LOSS_MIN_RATIO: f64 = 0.5;
/// Number of slots kept apart before they are added to their windows.
const SLOTS_MAX: usize = 512;

/// State of a trial at the end of a slot.
pub(crate) struct SlotEnd<'a> {
    /// Time since the first frame was due, in seconds.
    pub(crate) end_s: f64,
    pub(crate) now: &'a [Sample],
    /// Frames that senders have skipped since the trial's start.
    pub(crate) unsent: u64,
    /// Losses confirmed since the trial's start, by series.
    pub(crate) lost: &'a [u64],
    /// Position of the window that contains the slot.
    pub(crate) window: usize,
    /// Longest wait of the SUT for a CPU that ended in the slot, in seconds.
    pub(crate) sut_wait_s: f64,
    /// Time in which a CPU of the SUT was slow, in seconds.
    pub(crate) slow_s: f64,
    /// Longest wait of the tester for a CPU that ended in the slot, in seconds.
    pub(crate) tester_wait_s: f64,
    /// Largest lateness of a frame that the SUT cannot have caused, in seconds.
    pub(crate) late_s: f64,
}

impl SlotEnd<'_> {
    /// Frames sent since the trial's start, and those of them that have left the SUT or are lost.
    fn sent_and_gone(&self) -> (u64, u64) {
        let sum = |count: fn(&Sample) -> u64| self.now.iter().map(count).sum::<u64>();
        (sum(|series| series.offered), sum(|series| series.received) + self.lost.iter().sum::<u64>())
    }
}

/// The counts of one slot.
#[derive(Debug)]
struct Slot {
    begin_s: f64,
    end_s: f64,
    window: usize,
    offered: Vec<u64>,
    received: Vec<u64>,
    lost: Vec<u64>,
    unsent: u64,
    disturbed: bool,
    /// Losses that its waits explain at most, by series.
    explained: Vec<u64>,
}

/// Waits of SUT and tester in a window, and time in which a CPU of the SUT was slow.
#[derive(Clone, Debug, Default)]
struct Waits {
    sut_s: f64,
    tester_s: f64,
    slow_s: f64,
    /// Frames received in the slow time; the SUT forwards none while it waits.
    slow_received: f64,
    /// Frames skipped when the tester waited.
    unsent: u64,
}

impl Waits {
    /// Return the time that is left out.
    fn left_out_s(&self, with_slow: bool) -> f64 {
        self.sut_s + self.tester_s + if with_slow { self.slow_s } else { 0.0 }
    }
}

/// The effect of a disturbance after its end: until the frames sent by then have left the SUT, as their losses show only
/// now, and its queues are as short as before.
#[derive(Clone, Copy, Debug)]
struct Drain {
    begin_s: f64,
    /// Frames sent until its begin.
    sent: u64,
    /// Frames in flight at `in_flight_s`.
    in_flight: u64,
    in_flight_s: f64,
    /// Latest slots in a row in which it was over.
    drained_slots: u32,
}

/// The slots of a trial.
#[derive(Debug)]
pub(crate) struct Slots {
    load_pps: f64,
    recent: VecDeque<Slot>,
    last: Vec<Sample>,
    last_unsent: u64,
    last_lost: Vec<u64>,
    last_s: f64,
    last_late_s: f64,
    /// Frames that had left the SUT or were lost at `gone_s`, when the last of them was, or when a wait of the SUT ended.
    gone: u64,
    gone_s: f64,
    /// The drain after a disturbance, if it has not ended.
    drain: Option<Drain>,
    /// Begin of the time in which frames were late in every slot, if they were in the last one.
    late_since_s: Option<f64>,
    /// Frames in flight at the ends of the latest undisturbed slots.
    in_flight: VecDeque<u64>,
    /// Disturbed part of slots that are no longer in `recent`, and of the total.
    disturbed: DisturbedTime,
    disturbed_unsent: u64,
    /// Waits by window.
    waits: Vec<Waits>,
    /// Further losses that the current disturbance explains at most, by series.
    loss_allowances: Vec<u64>,
    /// Undisturbed losses of settled slots, and the undisturbed time until the first of them.
    settled_lost: u64,
    first_loss_s: Option<f64>,
    settled: usize,
}

impl Slots {
    pub(crate) fn new(series_count: usize, load_pps: f64) -> Self {
        Self {
            load_pps,
            recent: VecDeque::new(),
            last: vec![Sample::default(); series_count],
            last_unsent: 0,
            last_lost: vec![0; series_count],
            last_s: 0.0,
            last_late_s: 0.0,
            gone: 0,
            gone_s: 0.0,
            drain: None,
            late_since_s: None,
            in_flight: VecDeque::new(),
            disturbed: DisturbedTime::new(series_count),
            disturbed_unsent: 0,
            waits: Vec::new(),
            loss_allowances: vec![0; series_count],
            settled_lost: 0,
            first_loss_s: None,
            settled: 0,
        }
    }

    /// Record a slot. Confirmed losses belong to the slot before, in which later frames overtook them.
    pub(crate) fn close(&mut self, end: &SlotEnd<'_>) {
        if let Some(before) = self.recent.back_mut() {
            before.lost = end.lost.iter().zip(&self.last_lost).map(|(now, last)| now - last).collect();
        }
        let is_late = end.late_s > TESTER_WAIT_MAX_S;
        let becomes_late = self.late_since_s.is_none() && end.late_s - self.last_late_s > TESTER_WAIT_MAX_S;
        let waits = end.sut_wait_s > SUT_WAIT_MAX_S || end.tester_wait_s > TESTER_WAIT_MAX_S || becomes_late;
        let has_stalled = self.has_stalled(waits, end);
        let slow_s = if has_stalled { 0.0 } else { end.slow_s };
        let begins = waits || slow_s > SUT_WAIT_MAX_S;
        let late_s = if becomes_late { end.late_s } else { 0.0 };
        let explained = self.compute_explained(end, end.sut_wait_s + end.tester_wait_s.max(late_s), slow_s);
        self.add_waits(end, slow_s);
        self.last_late_s = end.late_s;
        self.late_since_s = if is_late { self.late_since_s.or(Some(self.last_s)) } else { None };
        self.recent.push_back(Slot {
            begin_s: self.last_s,
            end_s: end.end_s,
            window: end.window,
            offered: end.now.iter().zip(&self.last).map(|(now, last)| now.offered - last.offered).collect(),
            received: self.count_received(end),
            lost: vec![0; end.now.len()],
            unsent: end.unsent - self.last_unsent,
            disturbed: begins || self.drain.is_some(),
            explained: vec![0; end.now.len()],
        });
        let mut first = self.recent.len() - 1;
        if begins {
            // Frames sent in the slot before the wait were still on their way.
            let begin_s =
                self.last_s.min(end.end_s - end.sut_wait_s.max(slow_s).max(end.tester_wait_s).max(end.late_s));
            first = self.recent.iter().take_while(|slot| slot.end_s <= begin_s).count().saturating_sub(1);
            self.recent.iter_mut().skip(first).for_each(|slot| slot.disturbed = true);
        }
        self.recent[first].explained.iter_mut().zip(explained).for_each(|(total, count)| *total += count);
        self.update_drain(begins, has_stalled, end);
        (self.last, self.last_unsent, self.last_s) = (end.now.to_vec(), end.unsent, end.end_s);
        self.last_lost = end.lost.to_vec();
        self.settle(end.end_s - SETTLED_S);
        while self.recent.len() > SLOTS_MAX {
            self.fold_oldest();
        }
    }

    /// Return the frames received since the last slot, by series.
    fn count_received(&self, end: &SlotEnd<'_>) -> Vec<u64> {
        end.now.iter().zip(&self.last).map(|(now, last)| now.received.saturating_sub(last.received)).collect()
    }

    /// Return the losses that the waits and the slow time of a slot explain at most, by series: all frames sent in the
    /// waits, and in the slow time those that a slower SUT did not forward.
    fn compute_explained(&self, end: &SlotEnd<'_>, waited_s: f64, slow_s: f64) -> Vec<u64> {
        let count = self.load_pps * (waited_s + (1.0 - SLOW_SPEED) * slow_s.min(end.end_s - self.last_s));
        let sent = end.now.iter().map(|series| series.offered).sum::<u64>().max(1) as f64;
        end.now.iter().map(|series| (count * series.offered as f64 / sent).ceil() as u64).collect()
    }

    fn add_waits(&mut self, end: &SlotEnd<'_>, slow_s: f64) {
        if self.waits.len() <= end.window {
            self.waits.resize(end.window + 1, Waits::default());
        }
        let received: u64 = self.count_received(end).iter().sum();
        let slot_s = (end.end_s - self.last_s).max(1e-9);
        let slow_s = slow_s.min(slot_s);
        let waits = &mut self.waits[end.window];
        waits.sut_s += end.sut_wait_s;
        waits.tester_s += end.tester_wait_s;
        waits.slow_s += slow_s;
        waits.slow_received += received as f64 * slow_s / slot_s;
        if end.tester_wait_s > 0.0 {
            waits.unsent += end.unsent - self.last_unsent;
        }
    }

    /// Return whether no frame has left the SUT for a while although some were in it and it had its CPU.
    fn has_stalled(&mut self, waits: bool, end: &SlotEnd<'_>) -> bool {
        let (sent, gone) = end.sent_and_gone();
        if waits || gone > self.gone || gone >= sent {
            (self.gone, self.gone_s) = (gone, end.end_s);
        }
        end.end_s - self.gone_s >= STALL_S
    }

    fn update_drain(&mut self, begins: bool, has_stalled: bool, end: &SlotEnd<'_>) {
        let now_s = end.end_s;
        let (sent, gone) = end.sent_and_gone();
        let in_flight = sent.saturating_sub(gone);
        let is_catching_up = self.late_since_s.is_some_and(|since_s| now_s - since_s <= CATCH_UP_MAX_S);
        let usual = self.in_flight.iter().copied().max().unwrap_or(0).max((self.load_pps * IN_FLIGHT_S) as u64);
        match &mut self.drain {
            _ if begins => {
                let (begin_s, in_flight_s) = (now_s, now_s);
                self.drain = Some(Drain { begin_s, sent, in_flight, in_flight_s, drained_slots: 0 });
            }
            Some(drain) => {
                let passed_s = now_s - drain.in_flight_s;
                let drained_ratio = 1.0 - in_flight as f64 / drain.in_flight.max(1) as f64;
                let is_steady = passed_s >= STEADY_S && drained_ratio < DRAIN_RATIO_PER_S * passed_s;
                if passed_s >= STEADY_S {
                    (drain.in_flight, drain.in_flight_s) = (in_flight, now_s);
                }
                let has_left = !is_catching_up && gone >= drain.sent;
                drain.drained_slots = if has_left && in_flight <= usual { drain.drained_slots + 1 } else { 0 };
                let is_drained = drain.drained_slots >= DRAINED_SLOTS || (has_left && is_steady);
                if is_drained || has_stalled || now_s - drain.begin_s > DRAIN_MAX_S {
                    self.drain = None;
                }
            }
            None => {
                self.in_flight.push_back(in_flight);
                if self.in_flight.len() > IN_FLIGHT_SLOTS {
                    self.in_flight.pop_front();
                }
            }
        }
    }

    /// Count the losses of slots whose state is final: those that end by `until_s`.
    fn settle(&mut self, until_s: f64) {
        while let Some(slot) = self.recent.get(self.settled)
            && slot.end_s <= until_s + 1e-9
        {
            let lost: u64 = slot.lost.iter().sum();
            if !slot.disturbed && lost > 0 {
                self.settled_lost += lost;
                let end_s = slot.end_s;
                let undisturbed_s = end_s - self.disturbed_until(end_s);
                self.first_loss_s.get_or_insert(undisturbed_s);
            }
            self.settled += 1;
        }
    }

    fn fold_oldest(&mut self) {
        let Some(slot) = self.recent.pop_front() else { return };
        self.settled = self.settled.saturating_sub(1);
        if !slot.disturbed {
            self.loss_allowances.fill(0);
            return;
        }
        self.loss_allowances.iter_mut().zip(&slot.explained).for_each(|(allowance, count)| *allowance += count);
        let allowed = slot.lost.iter().zip(&self.loss_allowances);
        let lost: Vec<u64> = allowed.map(|(lost, allowance)| *lost.min(allowance)).collect();
        self.loss_allowances.iter_mut().zip(&lost).for_each(|(allowance, lost)| *allowance -= lost);
        self.disturbed.add(slot.window, slot.end_s - slot.begin_s, [&slot.offered, &slot.received, &lost]);
        self.disturbed_unsent += slot.unsent;
    }

    /// Return the least number of lost frames that are the SUT's own, whatever the waits so far cost; None if most of
    /// the loss may be theirs, or if enough time was undisturbed to judge by that.
    ///
    /// `received` and `lost` are those of the trial so far, all series.
    pub(crate) fn own_loss(&self, elapsed_s: f64, received: u64, lost: u64) -> Option<u64> {
        let unknown_s = SETTLED_S; // the latest wait may be one that has not ended
        self.bound_own_loss(elapsed_s, received, lost, unknown_s).filter(|own| self.is_decisive(elapsed_s, *own, lost))
    }

    /// The same at the end of the trial, in which all waits are known. A loss that ended the trial is the SUT's own even
    /// if that is no longer most of it.
    pub(crate) fn final_own_loss(&self, elapsed_s: f64, received: u64, lost: u64, has_ended: bool) -> Option<u64> {
        let own_lost = self.bound_own_loss(elapsed_s, received, lost, 0.0);
        own_lost.filter(|own| has_ended || self.is_decisive(elapsed_s, *own, lost))
    }

    /// Return whether most of the loss is the SUT's own and too little time was undisturbed to judge by that.
    fn is_decisive(&self, elapsed_s: f64, own_lost: u64, lost: u64) -> bool {
        self.disturbed_s() >= BOUNDED_MIN_RATIO * elapsed_s && own_lost as f64 >= OWN_LOSS_MIN_RATIO * lost as f64
    }

    fn bound_own_loss(&self, elapsed_s: f64, received: u64, lost: u64, unknown_s: f64) -> Option<u64> {
        let sum = |value: fn(&Waits) -> f64| self.waits.iter().map(value).sum::<f64>();
        let sut_s = sum(|waits| waits.sut_s) + unknown_s;
        let forwarding_s = elapsed_s - sut_s;
        if lost == 0 || forwarding_s <= 0.0 {
            return None;
        }
        let (received, lost) = (received as f64, lost as f64);
        let tester_ratio = sum(|waits| waits.tester_s) / elapsed_s;
        let explained = WAIT_COST * (received * sut_s / forwarding_s + (received + lost) * tester_ratio)
            + (1.0 / SLOW_SPEED - 1.0) * sum(|waits| waits.slow_received);
        Some((lost - explained).max(0.0) as u64)
    }

    /// Return the time that is left out if the loss is bounded, in seconds: that of all waits so far, and the slow time
    /// unless most of the time is: a slow CPU shows an overload, too.
    pub(crate) fn waited_s(&self, elapsed_s: f64) -> f64 {
        let with_slow = self.leaves_out_slow_time(elapsed_s);
        self.waits.iter().map(|waits| waits.left_out_s(with_slow)).sum()
    }

    fn leaves_out_slow_time(&self, elapsed_s: f64) -> bool {
        self.waits.iter().map(|waits| waits.left_out_s(true)).sum::<f64>() <= SLOW_MAX_RATIO * elapsed_s
    }

    /// Return the undisturbed frames lost so far, of slots whose state is final.
    pub(crate) fn lost_count(&self) -> u64 {
        self.settled_lost
    }

    /// Return the undisturbed time until the end of the first slot with an undisturbed loss.
    pub(crate) fn first_loss_s(&self) -> Option<f64> {
        self.first_loss_s
    }

    /// Return the disturbed time so far, in seconds.
    pub(crate) fn disturbed_s(&self) -> f64 {
        self.disturbed_until(f64::INFINITY)
    }

    /// Return whether a disturbance goes on, or frames that it delayed may still be on their way.
    pub(crate) fn is_draining(&self) -> bool {
        self.drain.is_some()
    }

    fn disturbed_until(&self, end_s: f64) -> f64 {
        let recent = self.recent.iter().filter(|slot| slot.disturbed && slot.end_s <= end_s);
        self.disturbed.total_s() + recent.map(|slot| slot.end_s - slot.begin_s).sum::<f64>()
    }

    /// Return the waits as the disturbed part of each window, with all losses but `own_lost`, in the windows of the waits
    /// or in later ones, and the frames that were skipped meanwhile. `windows` has the final losses.
    pub(crate) fn finish_bounded(mut self, windows: &Windows, own_lost: u64) -> (DisturbedTime, u64) {
        let mut disturbed = DisturbedTime::new(windows.lost_count.len());
        self.waits.resize(windows.end_s.len(), Waits::default());
        let explained = windows.lost_count.iter().flatten().sum::<u64>().saturating_sub(own_lost) as f64;
        let elapsed_s = windows.end_s.last().copied().unwrap_or(0.0);
        let with_slow = self.leaves_out_slow_time(elapsed_s);
        let per_second = explained / self.waits.iter().map(|waits| waits.left_out_s(true)).sum::<f64>().max(1e-9);
        let (mut begin_s, mut missing) = (0.0, 0.0);
        for (window, end_s) in windows.end_s.iter().enumerate() {
            let waits = &self.waits[window];
            let window_s = (end_s - begin_s).max(1e-9);
            let time_s = waits.left_out_s(with_slow).min(window_s);
            let take = |columns: &[Vec<u64>], ratio: f64| -> Vec<u64> {
                columns.iter().map(|column| (column[window] as f64 * ratio.clamp(0.0, 1.0)).round() as u64).collect()
            };
            let sum = |columns: &[Vec<u64>]| columns.iter().map(|column| column[window]).sum::<u64>().max(1) as f64;
            missing += per_second * waits.left_out_s(true);
            let lost = take(&windows.lost_count, missing / sum(&windows.lost_count));
            missing -= lost.iter().sum::<u64>() as f64;
            let offered = take(&windows.offered_count, time_s / window_s);
            let slow_received = if with_slow { waits.slow_received } else { 0.0 };
            let received = take(&windows.received_count, slow_received / sum(&windows.received_count));
            disturbed.add(window, time_s, [&offered, &received, &lost]);
            begin_s = *end_s;
        }
        (disturbed, self.waits.iter().map(|waits| waits.unsent).sum())
    }

    /// Return the disturbed part of each window, and the frames that were skipped meanwhile. Sending ended at
    /// `sent_for_s`; `windows` has the final losses, the frames that no other overtook in its last window.
    pub(crate) fn finish(mut self, sent_for_s: f64, windows: &Windows) -> (DisturbedTime, u64) {
        let is_disturbed_at_end = self.recent.back().is_some_and(|slot| slot.disturbed);
        let late_lost = |(column, confirmed): (&Vec<u64>, &u64)| {
            if is_disturbed_at_end { column.iter().sum::<u64>().saturating_sub(*confirmed) } else { 0 }
        };
        let late_lost: Vec<u64> = windows.lost_count.iter().zip(&self.last_lost).map(late_lost).collect();
        while let Some(slot) = self.recent.front_mut() {
            slot.end_s = slot.end_s.min(sent_for_s).max(slot.begin_s.min(sent_for_s));
            slot.begin_s = slot.begin_s.min(sent_for_s);
            self.fold_oldest();
        }
        self.disturbed.fit(windows, &late_lost);
        (self.disturbed, self.disturbed_unsent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD_PPS: f64 = 100_000.0;

    /// Slots of 10 ms with 1,000 frames each, one window: (waited ms, in flight, losses confirmed so far).
    fn run(slots: &[(f64, u64, u64)]) -> (Slots, Windows) {
        run_with(slots, |_, _| {})
    }

    /// The same, with frames that are late in the first slots, in ms.
    fn run_late(slots: &[(f64, u64, u64)], late_ms: &[f64]) -> (Slots, Windows) {
        run_with(slots, |index, end| end.late_s = late_ms.get(index).copied().unwrap_or(0.0) / 1e3)
    }

    /// The same, with other changes of the slots.
    fn run_with(slots: &[(f64, u64, u64)], change: impl Fn(usize, &mut SlotEnd<'_>)) -> (Slots, Windows) {
        let mut found = Slots::new(1, LOAD_PPS);
        for (index, (wait_ms, in_flight, lost)) in (1_u32..).zip(slots) {
            let offered = u64::from(index) * 1000;
            let mut end = SlotEnd {
                end_s: f64::from(index) * 0.01,
                now: &[Sample { offered, received: offered - in_flight - lost, overdue: *lost }],
                unsent: 0,
                lost: &[*lost],
                window: 0,
                sut_wait_s: wait_ms / 1e3,
                slow_s: 0.0,
                tester_wait_s: 0.0,
                late_s: 0.0,
            };
            change(index as usize - 1, &mut end);
            found.close(&end);
        }
        let (count, lost) = (slots.len() as u64, slots.last().map_or(0, |last| last.2));
        let windows = Windows {
            end_s: vec![count as f64 * 0.01],
            offered_count: vec![vec![count * 1000]],
            received_count: vec![vec![count * 1000 - lost]],
            lost_count: vec![vec![lost]],
            ..Windows::default()
        };
        (found, windows)
    }

    /// Disturbed slots, frames lost in them, and undisturbed losses of settled slots.
    fn split(slots: &[(f64, u64, u64)]) -> (u32, u64, u64) {
        split_result(run(slots))
    }

    fn split_result((found, windows): (Slots, Windows)) -> (u32, u64, u64) {
        let settled = found.lost_count();
        let (disturbed, _) = found.finish(windows.end_s[0], &windows);
        let slots = (disturbed.total_s() / 0.01).round() as u32;
        (slots, disturbed.lost_count.first().map_or(0, |column| column.iter().sum()), settled)
    }

    const QUIET: (f64, u64, u64) = (0.0, 5, 0);

    #[test]
    fn without_waits_every_loss_is_the_suts() {
        let lost = (0.0, 5, 7);
        assert_eq!(split(&[QUIET, QUIET, lost, lost, lost, lost, lost, lost]), (0, 0, 7));
    }

    #[test]
    fn a_short_wait_disturbs_nothing() {
        assert_eq!(split(&[QUIET, (0.35, 5, 0), QUIET, (0.0, 5, 3), (0.0, 5, 3)]).0, 0);
    }

    #[test]
    fn losses_during_a_wait_and_the_drain_after_it_are_left_out() {
        // The wait of slot 4 delayed 900 frames, which leave until slot 6; slot 9 loses two frames by itself.
        let slots = [
            (QUIET),
            (QUIET),
            (QUIET),
            (QUIET),
            (4.0, 900, 0),
            (0.0, 500, 60),
            (0.0, 90, 80),
            (0.0, 5, 80),
            (0.0, 5, 80),
            (0.0, 5, 80),
            (0.0, 5, 82),
            (0.0, 5, 82),
            (0.0, 5, 82),
            (0.0, 5, 82),
            (0.0, 5, 82),
        ];
        assert_eq!(split(&slots), (5, 80, 2));
    }

    #[test]
    fn a_disturbance_at_the_end_takes_no_earlier_losses_of_its_window() {
        let mut slots = [QUIET; 4].to_vec();
        slots.extend([(0.0, 5, 7); 8]);
        slots.push((4.0, 5, 7));
        assert_eq!(split(&slots), (2, 0, 7));
    }

    #[test]
    fn a_disturbance_explains_no_more_losses_than_frames_were_sent_in_its_waits() {
        // An outage of the SUT lost 5,000 frames, which shows during the short wait after it.
        let slots = [QUIET, QUIET, QUIET, QUIET, QUIET, (1.0, 5, 5000), (0.0, 5, 5000), (0.0, 5, 5000)];
        assert_eq!(split(&slots).1, 100);
    }

    #[test]
    fn a_long_wait_reaches_back_to_its_begin() {
        let slots = [QUIET, QUIET, QUIET, QUIET, QUIET, QUIET, (25.0, 5, 0), QUIET, QUIET];
        assert_eq!(split(&slots).0, 6);
    }

    #[test]
    fn a_queue_that_stays_as_long_is_the_loads() {
        let mut slots = vec![QUIET; 4];
        slots.push((4.0, 900, 50));
        slots.extend(vec![(0.0, 900, 50); 60]);
        assert_eq!(split(&slots).0, 9);
    }

    #[test]
    fn a_queue_that_drains_slowly_is_the_suts_own_after_a_while() {
        let mut slots = vec![QUIET; 4];
        slots.push((4.0, 4000, 50));
        slots.extend((1..140).map(|slot| (0.0, (4000.0 * 0.98_f64.powi(slot)) as u64, 50)));
        let disturbed = split(&slots).0;
        assert!((26..=28).contains(&disturbed), "{disturbed}");
    }

    #[test]
    fn a_wait_disturbs_until_the_queue_is_as_short_as_before() {
        let mut slots = vec![QUIET; 4];
        slots.push((4.0, 1900, 0));
        slots.extend((1..60).map(|slot| (0.0, (1900.0 * 0.8_f64.powi(slot)) as u64, 0)));
        let disturbed = split(&slots).0;
        assert!((16..=18).contains(&disturbed), "{disturbed}");
    }

    #[test]
    fn a_sut_that_stops_by_itself_after_a_wait_does_not_drain() {
        let mut slots = vec![QUIET; 4];
        slots.push((4.0, 900, 0));
        slots.extend((1..10).map(|index| (0.0, 900 + index * 1000, 0)));
        slots.extend([(0.0, 5, 8000); 8]);
        assert_eq!(split(&slots), (3, 0, 8000));
    }

    #[test]
    fn losses_of_a_slow_cpu_are_left_out_but_not_those_of_a_sut_that_stops_on_it() {
        let slow = |slots: &[(f64, u64, u64)]| split_result(run_with(slots, |_, end| end.slow_s = 0.01));
        let lossy: Vec<_> = (0..20).map(|slot| (0.0, 500, slot * 100)).collect();
        assert_eq!(slow(&lossy), (20, 1900, 0));
        let mut slots = vec![QUIET; 4];
        slots.extend((1..10).map(|index| (0.0, 5 + index * 1000, 0)));
        slots.extend([(0.0, 5, 8000); 8]);
        let (disturbed, left_out, lost) = slow(&slots);
        assert!(disturbed <= 14 && left_out <= 2000 && lost == 0, "{disturbed} {left_out} {lost}");
    }

    #[test]
    fn a_queue_that_was_full_before_is_no_drain() {
        let full = (0.0, 900, 0);
        assert_eq!(split(&[full, full, full, full, (4.0, 900, 0), full, full, full]).0, 4);
    }

    /// A SUT that forwards half of the load waits for 1 ms of every 50 ms, so that its queue is always full.
    fn run_overload(lost_per_slot: u64, wait_ms: f64) -> (Slots, Windows) {
        let slots: Vec<_> =
            (1..=100).map(|slot| (if slot % 5 == 0 { wait_ms } else { 0.0 }, 400, slot * lost_per_slot)).collect();
        run(&slots)
    }

    #[test]
    fn a_loss_far_above_that_of_the_waits_is_the_suts_own() {
        let (found, windows) = run_overload(500, 1.0);
        assert!(found.disturbed_s() > 0.7, "{}", found.disturbed_s());
        let (received, lost) = (50_000, 50_000);
        let own = found.own_loss(1.0, received, lost).unwrap();
        // 20 ms of waits, and 40 ms for the latest, cost 2 x 50 kpps x 60 ms at most.
        assert!((43_000..44_500).contains(&own), "{own}");
        let (waited, _) = found.finish_bounded(&windows, own);
        assert!((waited.total_s() - 0.02).abs() < 1e-6, "{}", waited.total_s());
        assert_eq!(waited.lost_count, vec![vec![lost - own]]);
        assert_eq!((&waited.offered_count, &waited.received_count), (&vec![vec![2_000]], &vec![vec![0]]));
    }

    #[test]
    fn a_slow_cpu_costs_at_most_as_many_frames_as_are_forwarded_on_it() {
        let slots: Vec<_> = (1..=100).map(|slot| (0.0, 200, slot * 700)).collect();
        let slow = |count: usize| run_with(&slots, |slot, end| end.slow_s = if slot < count { 0.012 } else { 0.0 });
        let (found, windows) = slow(100);
        // 300 kpps are forwarded at half of the speed at least, and 40 ms may be a wait: 0.6 of the load at most.
        let own = found.own_loss(1.0, 30_000, 70_000).unwrap();
        assert!((37_000..38_000).contains(&own), "{own}");
        let (left_out, _) = found.finish_bounded(&windows, own);
        assert_eq!((left_out.total_s(), left_out.lost_count), (0.0, vec![vec![70_000 - own]]));
        let (found, windows) = slow(40);
        let own = found.own_loss(1.0, 30_000, 70_000).unwrap();
        let (left_out, _) = found.finish_bounded(&windows, own);
        assert!((left_out.total_s() - 0.4).abs() < 1e-6, "{}", left_out.total_s());
        assert_eq!(left_out.received_count, vec![vec![11_800]]);
        let slots: Vec<_> = (1..=100).map(|slot| (0.0, 200, slot * 500)).collect();
        assert_eq!(run_with(&slots, |_, end| end.slow_s = 0.01).0.own_loss(1.0, 50_000, 50_000), None);
    }

    #[test]
    fn a_loss_that_the_waits_may_have_caused_is_not_the_suts_own() {
        let (found, _) = run_overload(60, 1.0);
        assert_eq!(found.own_loss(1.0, 94_000, 6_000), None);
        let (found, _) = run_overload(500, 9.0);
        assert_eq!(found.own_loss(1.0, 50_000, 50_000), None);
    }

    #[test]
    fn at_the_end_no_wait_is_unknown_and_a_loss_that_ended_the_trial_is_the_suts_own() {
        let (found, _) = run_overload(500, 1.0);
        let own = found.final_own_loss(1.0, 50_000, 50_000, false).unwrap();
        assert!((47_500..48_500).contains(&own), "{own}");
        let (found, _) = run_overload(60, 1.0);
        assert_eq!(found.final_own_loss(1.0, 94_000, 6_000, false), None);
        assert_eq!(found.final_own_loss(1.0, 94_000, 6_000, true), Some(2_163));
    }

    #[test]
    fn a_loss_that_undisturbed_time_shows_is_not_bounded() {
        let slots: Vec<_> = (1..=100).map(|slot| (if slot == 50 { 1.0 } else { 0.0 }, 5, slot * 500)).collect();
        let (found, _) = run(&slots);
        assert_eq!(found.own_loss(1.0, 50_000, 50_000), None);
    }

    #[test]
    fn a_sender_that_is_late_for_a_moment_is_disturbed_and_one_that_stays_late_is_slow() {
        let (found, windows) = run_late(&[QUIET; 80], &[0.0, 0.0, 0.0, 0.0, 6.0, 3.0]);
        assert!((found.finish(windows.end_s[0], &windows).0.total_s() - 0.05).abs() < 1e-9);
        let (found, windows) = run_late(&[QUIET; 80], &[vec![0.0; 4], vec![20.0; 70]].concat());
        let disturbed_s = found.finish(windows.end_s[0], &windows).0.total_s();
        assert!((0.27..0.31).contains(&disturbed_s), "{disturbed_s}");
        let gradual: Vec<f64> = (0..80).map(|slot| 0.5 * f64::from(slot % 20)).collect();
        let (found, windows) = run_late(&[QUIET; 80], &gradual);
        assert_eq!(found.finish(windows.end_s[0], &windows).0.total_s(), 0.0);
        let mut slots = [QUIET; 80];
        slots[60].0 = 4.0;
        let (found, windows) = run_late(&slots, &[vec![0.0; 4], vec![20.0; 76]].concat());
        let longer_s = found.finish(windows.end_s[0], &windows).0.total_s() - disturbed_s;
        assert!((0.02..0.06).contains(&longer_s), "{longer_s}");
    }
}

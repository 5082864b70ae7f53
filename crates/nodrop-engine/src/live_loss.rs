//! Detection of certain losses during a trial.

use nodrop_model::{DRAIN_MAX_S, Windows};

use crate::shared_counters::Sample;

/// Frames certainly lost, by series and window.
///
/// The conductor checks several times per window. A frame is certainly lost if it had been overtaken before one check
/// and is still missing at the next, or if it was sent so long ago that the wait at the end of a trial would have
/// ended, as on a dead path.
pub(crate) struct LiveLoss {
    lost: Vec<u64>,
    first_loss_s: Option<f64>,
    /// Window of the previous check, to which new losses are attributed: the frames had been overtaken by then.
    previous_window: usize,
    /// Frames sent longer ago than the drain time, and the number of windows they cover.
    expired_sent: Vec<u64>,
    expired_windows: usize,
}

impl LiveLoss {
    pub(crate) fn new(series_count: usize) -> Self {
        Self {
            lost: vec![0; series_count],
            first_loss_s: None,
            previous_window: 0,
            expired_sent: vec![0; series_count],
            expired_windows: 0,
        }
    }

    /// Return the frames certainly lost so far.
    pub(crate) fn count(&self) -> u64 {
        self.lost.iter().sum()
    }

    /// Return the frames certainly lost so far, by series.
    pub(crate) fn by_series(&self) -> &[u64] {
        &self.lost
    }

    /// Return the end of the first window with a loss.
    pub(crate) fn first_loss_s(&self) -> Option<f64> {
        self.first_loss_s
    }

    /// Record the losses that this check confirmed. The current window is still open: `windows` contains the closed
    /// ones, and one more entry of lost frames.
    pub(crate) fn update(&mut self, windows: &mut Windows, now: &[Sample], now_s: f64) {
        self.expire_windows(windows, now_s - DRAIN_MAX_S);
        for (series, sample) in now.iter().enumerate() {
            let expired = self.expired_sent[series].saturating_sub(sample.received);
            // A late arrival does not reduce the count here; `reconcile` does at the end.
            let lost = sample.overdue.max(expired).max(self.lost[series]);
            let column = &mut windows.lost_count[series];
            column.resize(windows.end_s.len() + 1, 0);
            column[self.previous_window] += lost - self.lost[series];
            self.lost[series] = lost;
        }
        self.previous_window = windows.end_s.len();
        if self.count() > 0 {
            self.first_loss_s.get_or_insert(now_s);
        }
    }

    fn expire_windows(&mut self, windows: &Windows, until_s: f64) {
        while windows.end_s.get(self.expired_windows).is_some_and(|end_s| *end_s <= until_s) {
            for (sum, column) in self.expired_sent.iter_mut().zip(&windows.offered_count) {
                *sum += column[self.expired_windows];
            }
            self.expired_windows += 1;
        }
    }
}

/// Make the losses of a series add up to `lost_count` by adjusting its last windows: add losses that only the end
/// confirmed, and subtract frames that arrived after all.
pub(crate) fn reconcile(column: &mut [u64], lost_count: u64) {
    let mut sum: u64 = column.iter().sum();
    if let Some(last) = column.last_mut() {
        *last += lost_count.saturating_sub(sum);
    }
    for window in column.iter_mut().rev() {
        let excess = sum.saturating_sub(lost_count).min(*window);
        *window -= excess;
        sum -= excess;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulate windows of 0.5 s with 100 frames each, and (received, overdue) at the end of each; return the losses by
    /// window.
    fn track(seen: &[(u64, u64)]) -> (Vec<u64>, LiveLoss) {
        let columns = || vec![Vec::new()];
        let mut windows = Windows {
            series: vec![],
            end_s: vec![],
            offered_count: columns(),
            received_count: columns(),
            lost_count: columns(),
            ..Windows::default()
        };
        let mut losses = LiveLoss::new(1);
        for (window, (received, overdue)) in (1_u32..).zip(seen) {
            let now = Sample { offered: u64::from(window) * 100, received: *received, overdue: *overdue };
            losses.update(&mut windows, &[now], f64::from(window) * 0.5);
            windows.end_s.push(f64::from(window) * 0.5);
            windows.offered_count[0].push(100);
        }
        (windows.lost_count.remove(0), losses)
    }

    #[test]
    fn overdue_frames_are_lost_in_the_window_in_which_others_overtook_them() {
        let (by_window, losses) = track(&[(90, 0), (190, 10), (289, 10), (389, 11)]);
        assert_eq!(by_window, [10, 0, 1, 0]);
        assert_eq!((losses.count(), losses.first_loss_s()), (11, Some(1.0)));
    }

    #[test]
    fn a_frame_that_comes_late_is_not_lost_again() {
        assert_eq!(track(&[(90, 0), (190, 10), (300, 0), (395, 5), (488, 12)]).0, [10, 0, 0, 2, 0]);
    }

    #[test]
    fn without_loss_there_is_no_first_one() {
        let (by_window, losses) = track(&[(90, 0), (200, 0)]);
        assert_eq!((by_window, losses.count(), losses.first_loss_s()), (vec![0, 0], 0, None));
    }

    /// RFC 2544 section 23: wait two seconds for frames in flight.
    #[test]
    fn over_a_dead_path_frames_are_lost_two_seconds_after_they_were_sent() {
        let (by_window, losses) = track(&[(100, 0), (150, 0), (150, 0), (150, 0), (150, 0), (150, 0), (150, 0)]);
        assert_eq!(by_window, [0, 0, 0, 0, 50, 100, 0]);
        assert_eq!(losses.first_loss_s(), Some(3.0));
    }

    #[test]
    fn the_last_windows_make_the_losses_add_up() {
        for (before, lost_count, after) in [
            (vec![0, 5, 0], 5, vec![0, 5, 0]),
            (vec![0, 5, 1], 9, vec![0, 5, 4]),
            (vec![3, 5, 1], 4, vec![3, 1, 0]),
            (vec![3, 5, 1], 0, vec![0, 0, 0]),
            (vec![], 0, vec![]),
        ] {
            let mut column = before.clone();
            reconcile(&mut column, lost_count);
            assert_eq!(column, after, "{before:?}");
        }
    }
}

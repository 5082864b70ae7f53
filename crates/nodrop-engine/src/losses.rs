//! Which losses are certain while a trial still runs.

use nodrop_model::{DRAIN_MAX_S, Windows};

use crate::progress::Sample;

/// Frames certainly lost, by group and window.
///
/// The conductor looks several times a window. A frame is certainly lost when it had been overtaken before one look and is
/// still missing at the next; and when it was sent so long ago that after a trial nobody would wait for it any more, as
/// over a path that went dead.
pub(crate) struct Losses {
    lost: Vec<u64>,
    first_s: Option<f64>,
    /// Window of the look before, where new losses are written: they were overtaken by then.
    window_before: usize,
    /// Frames sent long ago, and how many windows that was.
    sent_long_ago: Vec<u64>,
    windows_long_ago: usize,
}

impl Losses {
    pub(crate) fn new(group_count: usize) -> Self {
        Self {
            lost: vec![0; group_count],
            first_s: None,
            window_before: 0,
            sent_long_ago: vec![0; group_count],
            windows_long_ago: 0,
        }
    }

    /// Frames certainly lost so far.
    pub(crate) fn count(&self) -> u64 {
        self.lost.iter().sum()
    }

    /// End of the first window by which there were any.
    pub(crate) fn first_s(&self) -> Option<f64> {
        self.first_s
    }

    /// Write down the losses that this look made certain. The window it is in is still open: `windows` holds the ended
    /// ones, and of lost frames one more.
    pub(crate) fn look(&mut self, windows: &mut Windows, now: &[Sample], now_s: f64) {
        self.grow_old(windows, now_s - DRAIN_MAX_S);
        for (group, sample) in now.iter().enumerate() {
            let given_up = self.sent_long_ago[group].saturating_sub(sample.received);
            // A frame that comes in after all takes nothing back; `settle` does, in the end.
            let lost = sample.overdue.max(given_up).max(self.lost[group]);
            let column = &mut windows.lost_count[group];
            column.resize(windows.end_s.len() + 1, 0);
            column[self.window_before] += lost - self.lost[group];
            self.lost[group] = lost;
        }
        self.window_before = windows.end_s.len();
        if self.count() > 0 {
            self.first_s.get_or_insert(now_s);
        }
    }

    fn grow_old(&mut self, windows: &Windows, until_s: f64) {
        while windows.end_s.get(self.windows_long_ago).is_some_and(|end_s| *end_s <= until_s) {
            for (sum, column) in self.sent_long_ago.iter_mut().zip(&windows.offered_count) {
                *sum += column[self.windows_long_ago];
            }
            self.windows_long_ago += 1;
        }
    }
}

/// Make a group's losses add up to `lost_count`, by its last windows: losses that only the end made certain are added
/// there, and what came in after all is taken back.
pub(crate) fn settle(column: &mut [u64], lost_count: u64) {
    let mut known: u64 = column.iter().sum();
    if let Some(last) = column.last_mut() {
        *last += lost_count.saturating_sub(known);
    }
    for window in column.iter_mut().rev() {
        let excess = known.saturating_sub(lost_count).min(*window);
        *window -= excess;
        known -= excess;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 0.5 s with 100 frames each, and (received, overdue) at the end of each; gives the losses by window.
    fn losses(seen: &[(u64, u64)]) -> (Vec<u64>, Losses) {
        let columns = || vec![Vec::new()];
        let mut windows = Windows {
            series: vec![],
            end_s: vec![],
            offered_count: columns(),
            received_count: columns(),
            lost_count: columns(),
        };
        let mut losses = Losses::new(1);
        for (window, (received, overdue)) in (1_u32..).zip(seen) {
            let now = Sample { offered: u64::from(window) * 100, received: *received, overdue: *overdue };
            losses.look(&mut windows, &[now], f64::from(window) * 0.5);
            windows.end_s.push(f64::from(window) * 0.5);
            windows.offered_count[0].push(100);
        }
        (windows.lost_count.remove(0), losses)
    }

    #[test]
    fn overdue_frames_are_lost_in_the_window_in_which_others_overtook_them() {
        let (by_window, losses) = losses(&[(90, 0), (190, 10), (289, 10), (389, 11)]);
        assert_eq!(by_window, [10, 0, 1, 0]);
        assert_eq!((losses.count(), losses.first_s()), (11, Some(1.0)));
    }

    #[test]
    fn a_frame_that_comes_late_is_not_lost_again() {
        assert_eq!(losses(&[(90, 0), (190, 10), (300, 0), (395, 5), (488, 12)]).0, [10, 0, 0, 2, 0]);
    }

    #[test]
    fn without_loss_there_is_no_first_one() {
        let (by_window, losses) = losses(&[(90, 0), (200, 0)]);
        assert_eq!((by_window, losses.count(), losses.first_s()), (vec![0, 0], 0, None));
    }

    /// RFC 2544 section 23: wait two seconds for frames in flight.
    #[test]
    fn over_a_dead_path_frames_are_lost_two_seconds_after_they_were_sent() {
        let (by_window, losses) = losses(&[(100, 0), (150, 0), (150, 0), (150, 0), (150, 0), (150, 0), (150, 0)]);
        assert_eq!(by_window, [0, 0, 0, 0, 50, 100, 0]);
        assert_eq!(losses.first_s(), Some(3.0));
    }

    #[test]
    fn the_last_windows_make_the_losses_add_up() {
        for (found, lost_count, settled) in [
            (vec![0, 5, 0], 5, vec![0, 5, 0]),
            (vec![0, 5, 1], 9, vec![0, 5, 4]),
            (vec![3, 5, 1], 4, vec![3, 1, 0]),
            (vec![3, 5, 1], 0, vec![0, 0, 0]),
            (vec![], 0, vec![]),
        ] {
            let mut column = found.clone();
            settle(&mut column, lost_count);
            assert_eq!(column, settled, "{found:?}");
        }
    }
}

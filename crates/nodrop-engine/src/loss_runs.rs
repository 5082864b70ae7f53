//! Runs of consecutive lost frames, computed from arrival bitmaps.

use nodrop_model::LossRuns;

/// Counts runs of missing sequence numbers (RFC 3357 section 4.2, loss periods), 64 at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunCounter {
    current: u64,
    longest: u64,
    count: u64,
}

impl RunCounter {
    /// Process the next `numbers` sequence numbers: a bit is set if the frame arrived, lowest first.
    #[inline]
    pub(crate) fn add(&mut self, mut seen: u64, numbers: u32) {
        if seen == u64::MAX && self.current == 0 {
            return;
        }
        let mut remaining = numbers;
        while remaining > 0 {
            let lost = seen.trailing_zeros().min(remaining);
            self.add_lost(u64::from(lost));
            remaining -= lost;
            seen = seen.checked_shr(lost).unwrap_or(0);
            let arrived = seen.trailing_ones().min(remaining);
            if arrived > 0 {
                self.end_run();
            }
            remaining -= arrived;
            seen = seen.checked_shr(arrived).unwrap_or(0);
        }
    }

    /// Process `count` missing sequence numbers.
    pub(crate) fn add_lost(&mut self, count: u64) {
        self.current += count;
    }

    /// Return all runs; None if there are none.
    pub(crate) fn finish(mut self) -> Option<LossRuns> {
        self.end_run();
        (self.count > 0).then_some(LossRuns { count: self.count, longest: self.longest })
    }

    fn end_run(&mut self) {
        self.longest = self.longest.max(self.current);
        self.count += u64::from(self.current > 0);
        self.current = 0;
    }
}

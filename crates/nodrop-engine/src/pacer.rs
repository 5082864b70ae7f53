//! Departure time of each frame as a pure function of its number, so that rounding errors never accumulate.

use nodrop_model::LoadPattern;

use crate::pattern::LoadProfile;

/// The schedule of one port in one trial.
#[derive(Clone, Debug)]
pub struct Pacer {
    load_pps: f64,
    duration_s: f64,
    intended_count: u64,
    profile: LoadProfile,
}

impl Pacer {
    /// Evenly spaced frames at `load_pps` for `duration_s`, the first one due at time zero.
    #[must_use]
    pub fn new(load_pps: f64, duration_s: f64) -> Self {
        Self::with_pattern(load_pps, duration_s, &LoadPattern::Flat, 0)
    }

    /// Frames at a load that varies around `load_pps`; random patterns of different ports are independent.
    #[must_use]
    pub fn with_pattern(load_pps: f64, duration_s: f64, pattern: &LoadPattern, port: usize) -> Self {
        let intended_count = ((load_pps * duration_s).round() as u64).max(1);
        let profile = LoadProfile::new(pattern, duration_s, intended_count, port);
        Self { load_pps, duration_s, intended_count, profile }
    }

    /// Return the same schedule without the frames due at `end_ns` or later.
    #[must_use]
    pub fn ending_at(&self, end_ns: u64) -> Self {
        let due_before = match self.profile {
            LoadProfile::Flat => (end_ns as f64 * self.load_pps / 1e9).ceil() as u64,
            _ => self.due_count(end_ns.saturating_sub(1)),
        };
        Self { intended_count: due_before.clamp(1, self.intended_count), ..self.clone() }
    }

    /// Return the same schedule with all frames due before `end_ns`, a later end; a load that varies ends as before.
    #[must_use]
    pub fn extended_to(&self, end_ns: u64) -> Self {
        match self.profile {
            LoadProfile::Flat => {
                let due_before = (end_ns as f64 * self.load_pps / 1e9).ceil() as u64;
                Self { intended_count: due_before.max(self.intended_count), ..self.clone() }
            }
            _ => self.clone(),
        }
    }

    /// Return the load, if it is constant.
    #[must_use]
    pub(crate) fn even_load_pps(&self) -> Option<f64> {
        matches!(self.profile, LoadProfile::Flat).then_some(self.load_pps)
    }

    /// Return the frames that load and duration require; at least one.
    #[must_use]
    pub fn intended_count(&self) -> u64 {
        self.intended_count
    }

    /// Return the frames that are due once `elapsed_ns` have passed.
    #[must_use]
    #[inline]
    pub fn due_count(&self, elapsed_ns: u64) -> u64 {
        let started = match &self.profile {
            LoadProfile::Flat => (elapsed_ns as f64 * self.load_pps / 1e9) as u64 + 1,
            profile => {
                let share = (elapsed_ns as f64 / 1e9 / self.duration_s).min(1.0);
                profile.due_count(share, self.load_pps * self.duration_s)
            }
        };
        started.min(self.intended_count)
    }

    /// Return the departure time of frame `n`, counted from 0, in nanoseconds since the trial's start.
    #[must_use]
    #[inline]
    pub fn departure_ns(&self, n: u64) -> u64 {
        match &self.profile {
            LoadProfile::Flat => (n as f64 * 1e9 / self.load_pps) as u64,
            profile => (profile.time_share(n, self.load_pps * self.duration_s) * self.duration_s * 1e9) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_is_due_at_once_and_none_after_the_last() {
        let pacer = Pacer::new(1000.0, 2.0);
        assert_eq!(pacer.intended_count(), 2000);
        assert_eq!(pacer.due_count(0), 1);
        assert_eq!(pacer.due_count(999_999), 1);
        assert_eq!(pacer.due_count(1_000_000), 2);
        assert_eq!(pacer.due_count(10_000_000_000), 2000);
    }

    #[test]
    fn a_timetable_cut_short_keeps_what_is_due_before_its_end() {
        let pacer = Pacer::new(1000.0, 2.0);
        for (end_ns, intended) in [(0, 1), (1, 1), (1_000_000, 1), (1_000_001, 2), (1_500_000_000, 1500)] {
            assert_eq!(pacer.ending_at(end_ns).intended_count(), intended, "{end_ns}");
        }
        assert_eq!(pacer.ending_at(2_000_000_000).intended_count(), 2000);
        assert_eq!(pacer.ending_at(9_000_000_000).intended_count(), 2000);
    }

    #[test]
    fn an_extended_timetable_goes_on_at_the_same_load() {
        let pacer = Pacer::new(1000.0, 2.0).extended_to(3_500_000_000);
        assert_eq!(pacer.intended_count(), 3500);
        assert_eq!(pacer.due_count(3_000_000_000), 3001);
        assert_eq!(pacer.departure_ns(3499), 3_499_000_000);
        assert_eq!(pacer.ending_at(2_500_000_000).intended_count(), 2500);
        let ramp = LoadPattern::Burst { period_s: 0.1, duty_ratio: 0.2 };
        assert_eq!(Pacer::with_pattern(1000.0, 2.0, &ramp, 0).extended_to(3_000_000_000).intended_count(), 2000);
    }

    #[test]
    fn no_gap_error_adds_up_at_line_rate_over_an_hour() {
        let load_pps = 14_880_952.380_952_38;
        let pacer = Pacer::new(load_pps, 3600.0);
        let last = pacer.intended_count() - 1;
        let expected_ns = last as f64 / load_pps * 1e9;
        assert!((pacer.departure_ns(last) as f64 - expected_ns).abs() < 1000.0);
        assert_eq!(pacer.due_count(3_600_000_000_000), last + 1);
    }

    #[test]
    fn a_burst_leaves_in_its_part_of_each_period_and_the_mean_is_the_load() {
        let pattern = LoadPattern::Burst { period_s: 0.1, duty_ratio: 0.2 };
        let pacer = Pacer::with_pattern(1000.0, 1.0, &pattern, 0);
        let departures: Vec<u64> = (0..pacer.intended_count()).map(|n| pacer.departure_ns(n) / 1000).collect();
        assert_eq!(departures.len(), 1000);
        assert_eq!((departures[0], departures[1], departures[99], departures[100]), (0, 200, 19_800, 100_000));
        assert_eq!([19_900_000, 50_000_000, 99_999_000].map(|now_ns| pacer.due_count(now_ns)), [100; 3]);
        assert_eq!(pacer.ending_at(50_000_000).intended_count(), 100);
        assert_eq!(pacer.due_count(2_000_000_000), 1000);
    }

    #[test]
    fn a_frame_is_due_when_its_departure_has_come() {
        for load_pps in [3.0, 333.3, 123_456.7, 9_999_999.0] {
            let pacer = Pacer::new(load_pps, 10.0);
            for n in (0..pacer.intended_count()).step_by(1 + pacer.intended_count() as usize / 997) {
                let due = pacer.due_count(pacer.departure_ns(n) + 1);
                assert!(due == n + 1 || due == n + 2 || due == pacer.intended_count(), "{load_pps} {n} {due}");
            }
        }
    }
}

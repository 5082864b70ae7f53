//! Load profile of a trial: the share of the frames that is due at a share of the time, and its inverse.

mod poisson;
mod random;
mod shape;

use nodrop_model::{LoadPattern, StairDirection};
use std::sync::Arc;

use poisson::Poisson;
use shape::Shape;

/// Maximum number of random loads of a trial.
const RANDOM_LOADS_MAX: f64 = 1e6;

/// A load pattern applied to one port and trial.
#[derive(Clone, Debug)]
pub(crate) enum LoadProfile {
    /// Evenly spaced frames.
    Flat,
    /// A shape and its number of repetitions.
    Periodic(Arc<Shape>, f64),
    /// Random gaps.
    Poisson(Arc<Poisson>),
}

impl LoadProfile {
    /// Create the cell_loads of a trial of `duration_s` with `frame_count` frames; ports draw their gaps independently.
    pub(crate) fn new(pattern: &LoadPattern, duration_s: f64, frame_count: u64, port: usize) -> Self {
        let times = |period_s: f64| (duration_s / period_s).round().max(1.0);
        let periodic = |shape: Shape, period_s: f64| Self::Periodic(Arc::new(shape), times(period_s));
        match *pattern {
            LoadPattern::Flat => Self::Flat,
            LoadPattern::Burst { period_s, duty_ratio } => periodic(Shape::Burst(duty_ratio), period_s),
            LoadPattern::Sawtooth { period_s, amplitude_ratio } => periodic(Shape::Sawtooth(amplitude_ratio), period_s),
            LoadPattern::Triangle { period_s, amplitude_ratio } => periodic(Shape::Triangle(amplitude_ratio), period_s),
            LoadPattern::Sinusoid { period_s, amplitude_ratio } => periodic(Shape::Sinusoid(amplitude_ratio), period_s),
            LoadPattern::Stair { period_s, amplitude_ratio, step_count, direction } => {
                periodic(Shape::steps(&stair(amplitude_ratio, step_count, direction)), period_s)
            }
            LoadPattern::Random { period_s, amplitude_ratio, seed } => {
                let loads = random::loads(times(period_s) as usize, amplitude_ratio, seed);
                Self::Periodic(Arc::new(Shape::steps(&loads)), 1.0)
            }
            LoadPattern::Poisson { seed } => {
                Self::Poisson(Arc::new(Poisson::new(frame_count, seed.wrapping_add(port as u64))))
            }
        }
    }

    /// Return the share of the time at which frame `n` of `frames` (not always an integer) is due.
    pub(crate) fn time_share(&self, n: u64, frames: f64) -> f64 {
        match self {
            Self::Flat => n as f64 / frames,
            Self::Periodic(shape, times) => {
                let (period, share) = split(n as f64 / frames * times);
                (period + shape.phase_of(share)) / times
            }
            Self::Poisson(gaps) => gaps.time_share(n),
        }
    }

    /// Return the number of frames of `frames` that are due at a share of the time.
    pub(crate) fn due_count(&self, time_share: f64, frames: f64) -> u64 {
        let Self::Periodic(shape, times) = self else {
            return match self {
                Self::Poisson(gaps) => gaps.due_count(time_share),
                _ => (time_share * frames) as u64 + 1,
            };
        };
        let (period, phase) = split(time_share * times);
        let due = ((period + shape.share_at(phase)) / times * frames) as u64 + 1;
        // Between two bursts the next frame is not due yet, although all before it are.
        if self.time_share(due - 1, frames) > time_share { due - 1 } else { due }
    }
}

/// Split into entire periods and the phase in the next one, tolerating rounding errors.
fn split(periods: f64) -> (f64, f64) {
    let whole = (periods + 1e-9).floor();
    (whole, (periods - whole).max(0.0))
}

/// Return the loads of a stair's steps, as multiples of their mean.
fn stair(amplitude_ratio: f64, step_count: u32, direction: StairDirection) -> Vec<f64> {
    let last = f64::from(step_count - 1);
    let up = (0..step_count).map(|step| 1.0 - amplitude_ratio + 2.0 * amplitude_ratio * f64::from(step) / last);
    match direction {
        StairDirection::Up => up.collect(),
        StairDirection::Down => up.rev().collect(),
        StairDirection::UpDown => up.clone().chain(up.rev()).collect(),
    }
}

/// Return the error of an invalid pattern; None if it is valid.
pub(crate) fn pattern_error(pattern: &LoadPattern, duration_s: f64, frame_count_max: f64) -> Option<String> {
    let ratio = |name: &str, ratio: f64, least: f64| {
        (!(least..=1.0).contains(&ratio)).then(|| format!("pattern: {name} {ratio} is out of range; use {least} to 1"))
    };
    let period = |period_s: f64| {
        (!(1e-4..=86_400.0).contains(&period_s))
            .then(|| format!("pattern: period_s {period_s} is out of range; use 0.0001 to 86400"))
    };
    match *pattern {
        LoadPattern::Flat => None,
        LoadPattern::Burst { period_s, duty_ratio } => period(period_s).or(ratio("duty_ratio", duty_ratio, 0.001)),
        LoadPattern::Sawtooth { period_s, amplitude_ratio }
        | LoadPattern::Triangle { period_s, amplitude_ratio }
        | LoadPattern::Sinusoid { period_s, amplitude_ratio } => {
            period(period_s).or(ratio("amplitude_ratio", amplitude_ratio, 0.0))
        }
        LoadPattern::Random { period_s, amplitude_ratio, .. } => {
            period(period_s).or(ratio("amplitude_ratio", amplitude_ratio, 0.0)).or_else(|| {
                (duration_s / period_s > RANDOM_LOADS_MAX).then(|| {
                    format!(
                        "pattern: a random load every {period_s} s for {duration_s} s exceeds \
                         {RANDOM_LOADS_MAX} loads; use a longer period"
                    )
                })
            })
        }
        LoadPattern::Stair { period_s, amplitude_ratio, step_count, .. } => {
            period(period_s).or(ratio("amplitude_ratio", amplitude_ratio, 0.0)).or_else(|| {
                (!(2..=1000).contains(&step_count))
                    .then(|| format!("pattern: step_count {step_count} is out of range; use 2 to 1000"))
            })
        }
        LoadPattern::Poisson { .. } => (frame_count_max > Poisson::FRAMES_MAX as f64).then(|| {
            format!(
                "pattern: poisson supports up to {} frames per port, not {frame_count_max}; use shorter trials",
                Poisson::FRAMES_MAX
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DURATION_S: f64 = 2.0;
    const FRAMES: f64 = 200_000.0;

    fn profile(pattern: LoadPattern) -> LoadProfile {
        LoadProfile::new(&pattern, DURATION_S, FRAMES as u64, 0)
    }

    fn all() -> Vec<LoadPattern> {
        let (period_s, amplitude_ratio, seed) = (0.25, 0.8, 7);
        vec![
            LoadPattern::Flat,
            LoadPattern::Burst { period_s, duty_ratio: 0.3 },
            LoadPattern::Sawtooth { period_s, amplitude_ratio },
            LoadPattern::Triangle { period_s, amplitude_ratio },
            LoadPattern::Sinusoid { period_s, amplitude_ratio },
            LoadPattern::Stair { period_s, amplitude_ratio, step_count: 5, direction: StairDirection::UpDown },
            LoadPattern::Random { period_s: 0.05, amplitude_ratio, seed },
            LoadPattern::Poisson { seed },
        ]
    }

    #[test]
    fn every_pattern_sends_all_its_frames_in_its_time_in_order() {
        for pattern in all() {
            let profile = profile(pattern);
            let shares: Vec<f64> = (0..FRAMES as u64).map(|n| profile.time_share(n, FRAMES)).collect();
            assert!(shares[0] == 0.0 && shares[FRAMES as usize - 1] < 1.0, "{pattern:?}");
            assert!(shares.is_sorted(), "{pattern:?}");
        }
    }

    #[test]
    fn a_frame_is_due_from_its_departure_on_and_not_before() {
        for pattern in all() {
            let profile = profile(pattern);
            for n in (0..FRAMES as u64).step_by(61).chain([FRAMES as u64 - 1]) {
                let share = profile.time_share(n, FRAMES);
                let (before, after) = (share - 1e-11, share + 1e-11);
                assert!(before < 0.0 || profile.due_count(before, FRAMES) <= n, "{pattern:?} {n}");
                assert!(profile.due_count(after, FRAMES) > n, "{pattern:?} {n}");
            }
        }
    }

    /// Return the frames in each of `cells` equal parts of the trial, as multiples of their mean.
    fn cell_loads(pattern: LoadPattern, cells: u32) -> Vec<f64> {
        let profile = profile(pattern);
        let sent = |cell: u32| {
            (0..FRAMES as u64)
                .collect::<Vec<_>>()
                .partition_point(|n| profile.time_share(*n, FRAMES) < f64::from(cell) / f64::from(cells))
        };
        (0..cells).map(|cell| (sent(cell + 1) - sent(cell)) as f64 * f64::from(cells) / FRAMES).collect()
    }

    fn assert_close(actual: &[f64], expected: &[f64], by: f64) {
        assert_eq!(actual.len(), expected.len());
        for (actual, expected) in actual.iter().zip(expected) {
            assert!((actual - expected).abs() < by, "{actual} {expected}");
        }
    }

    /// The mean of each formula over eighths and quarters of one period, computed by hand.
    #[test]
    fn each_shape_is_that_of_its_formula() {
        let (period_s, amplitude_ratio) = (2.0, 0.5);
        assert_close(&cell_loads(LoadPattern::Burst { period_s, duty_ratio: 0.25 }, 4), &[4.0, 0.0, 0.0, 0.0], 1e-3);
        let saw = cell_loads(LoadPattern::Sawtooth { period_s, amplitude_ratio }, 4);
        assert_close(&saw, &[0.625, 0.875, 1.125, 1.375], 1e-3);
        let triangle = cell_loads(LoadPattern::Triangle { period_s, amplitude_ratio }, 4);
        assert_close(&triangle, &[0.75, 1.25, 1.25, 0.75], 1e-3);
        let sine = cell_loads(LoadPattern::Sinusoid { period_s, amplitude_ratio }, 2);
        assert_close(&sine, &[1.0 + 1.0 / std::f64::consts::PI, 1.0 - 1.0 / std::f64::consts::PI], 1e-3);
        for (direction, expected) in [
            (StairDirection::Up, [0.5, 1.0, 1.5, 0.5, 1.0, 1.5]),
            (StairDirection::Down, [1.5, 1.0, 0.5, 1.5, 1.0, 0.5]),
        ] {
            let stair = LoadPattern::Stair { period_s: 1.0, amplitude_ratio, step_count: 3, direction };
            assert_close(&cell_loads(stair, 6), &expected, 1e-3);
        }
        let stair = LoadPattern::Stair { period_s, amplitude_ratio, step_count: 3, direction: StairDirection::UpDown };
        assert_close(&cell_loads(stair, 6), &[0.5, 1.0, 1.5, 1.5, 1.0, 0.5], 1e-3);
    }

    #[test]
    fn random_loads_keep_to_their_seed_and_nearly_to_their_range() {
        let random = |seed| cell_loads(LoadPattern::Random { period_s: 0.1, amplitude_ratio: 0.5, seed }, 20);
        let loads = random(1);
        assert_eq!(loads, random(1));
        assert_ne!(loads, random(2));
        assert!((loads.iter().sum::<f64>() / 20.0 - 1.0).abs() < 1e-6);
        let (least, most) = loads.iter().fold((9.0f64, 0.0f64), |(low, high), load| (low.min(*load), high.max(*load)));
        assert!(least > 0.4 && least < 0.8 && most < 1.8 && most > 1.2, "{least} {most}");
    }

    /// In an exponential distribution, mean and standard deviation are equal, and 1/e of the gaps are longer than the
    /// mean.
    #[test]
    fn poisson_gaps_are_exponentially_distributed() {
        let profile = profile(LoadPattern::Poisson { seed: 3 });
        let gap = |n: u64| (profile.time_share(n + 1, FRAMES) - profile.time_share(n, FRAMES)) * FRAMES;
        let gaps: Vec<f64> = (0..FRAMES as u64 - 1).map(gap).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let longer = gaps.iter().filter(|gap| **gap > mean).count() as f64 / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 1e-3 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        assert!((longer - (-1.0f64).exp()).abs() < 0.005, "{longer}");
        let other = LoadProfile::new(&LoadPattern::Poisson { seed: 3 }, DURATION_S, FRAMES as u64, 1);
        assert_ne!(other.time_share(9, FRAMES), profile.time_share(9, FRAMES));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_range() {
        let error = |pattern| pattern_error(&pattern, 86_400.0, 1e12).unwrap();
        assert!(error(LoadPattern::Burst { period_s: 1.0, duty_ratio: 0.0 }).contains("duty_ratio 0"));
        assert!(error(LoadPattern::Triangle { period_s: 1.0, amplitude_ratio: 2.0 }).contains("amplitude_ratio 2"));
        assert!(error(LoadPattern::Sinusoid { period_s: 0.0, amplitude_ratio: 0.5 }).contains("period_s 0"));
        assert!(error(LoadPattern::Poisson { seed: 1 }).contains("shorter"));
        let often = LoadPattern::Random { period_s: 0.001, amplitude_ratio: 0.5, seed: 1 };
        assert!(error(often).contains("longer"));
        assert!(all().iter().all(|pattern| pattern_error(pattern, DURATION_S, 1e6).is_none()));
    }
}

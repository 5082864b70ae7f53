//! One period of a load: the share of its frames that is due at a phase, and its inverse.

use std::f64::consts::TAU;

/// Bisection steps that leave less than a nanosecond of the longest period.
const BISECTIONS: u32 = 48;

/// A period with phase 0 to 1 and mean load 1.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Constant load in this share of the period.
    Burst(f64),
    /// From 1 - a to 1 + a.
    Sawtooth(f64),
    /// From 1 - a to 1 + a and back.
    Triangle(f64),
    /// 1 + a sin.
    Sinusoid(f64),
    /// Steps of equal length, by the share of the frames due at the end of each.
    Steps(Vec<f64>),
}

impl Shape {
    /// Create steps of these loads, scaled to mean 1.
    pub(crate) fn steps(loads: &[f64]) -> Self {
        let sum: f64 = loads.iter().sum();
        let mut due = 0.0;
        Self::Steps(
            loads
                .iter()
                .map(|load| {
                    due += load / sum;
                    due
                })
                .collect(),
        )
    }

    /// Return the share of the frames due at a phase: the integral of the load.
    pub(crate) fn share_at(&self, phase: f64) -> f64 {
        match self {
            Self::Burst(duty) => (phase / duty).min(1.0),
            Self::Sawtooth(a) => ramp(*a, phase),
            Self::Triangle(a) if phase <= 0.5 => ramp(*a, 2.0 * phase) / 2.0,
            Self::Triangle(a) => 1.0 - ramp(*a, 2.0 - 2.0 * phase) / 2.0,
            Self::Sinusoid(a) => phase + a / TAU * (1.0 - (TAU * phase).cos()),
            Self::Steps(due) => {
                let step = ((phase * due.len() as f64) as usize).min(due.len() - 1);
                let before = if step == 0 { 0.0 } else { due[step - 1] };
                before + (due[step] - before) * (phase * due.len() as f64 - step as f64)
            }
        }
    }

    /// Return the phase at which a share of the frames is due: the inverse.
    pub(crate) fn phase_of(&self, share: f64) -> f64 {
        match self {
            Self::Burst(duty) => share * duty,
            Self::Sawtooth(a) => inverse_ramp(*a, share),
            Self::Triangle(a) if share <= 0.5 => inverse_ramp(*a, 2.0 * share) / 2.0,
            Self::Triangle(a) => 1.0 - inverse_ramp(*a, 2.0 - 2.0 * share) / 2.0,
            Self::Sinusoid(_) => self.bisect(share),
            Self::Steps(due) => {
                let step = due.partition_point(|due| *due <= share).min(due.len() - 1);
                let before = if step == 0 { 0.0 } else { due[step - 1] };
                (step as f64 + (share - before) / (due[step] - before)) / due.len() as f64
            }
        }
    }

    fn bisect(&self, share: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..BISECTIONS {
            let middle = (low + high) / 2.0;
            if self.share_at(middle) <= share { low = middle } else { high = middle }
        }
        low
    }
}

/// Return the integral of 1 - a + 2 a p.
fn ramp(a: f64, phase: f64) -> f64 {
    (1.0 - a) * phase + a * phase * phase
}

/// Return the inverse of [`ramp`], in a form that does not divide by a.
fn inverse_ramp(a: f64, share: f64) -> f64 {
    let slope = 1.0 - a;
    let root = (slope * slope + 4.0 * a * share).sqrt();
    if slope + root == 0.0 { 0.0 } else { 2.0 * share / (slope + root) }
}

//! One period of a load: which share of its frames is due at which place in it, and back.

use std::f64::consts::TAU;

/// Steps of a bisection that leave less than a nanosecond of the longest period.
const BISECTIONS: u32 = 48;

/// A period, from 0 to 1, with mean load 1.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// So much of the period, evenly.
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
    /// Steps of these loads, scaled to mean 1.
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

    /// Share of the frames due at a place: the integral of the load.
    pub(crate) fn share_at(&self, place: f64) -> f64 {
        match self {
            Self::Burst(duty) => (place / duty).min(1.0),
            Self::Sawtooth(a) => rise(*a, place),
            Self::Triangle(a) if place <= 0.5 => rise(*a, 2.0 * place) / 2.0,
            Self::Triangle(a) => 1.0 - rise(*a, 2.0 - 2.0 * place) / 2.0,
            Self::Sinusoid(a) => place + a / TAU * (1.0 - (TAU * place).cos()),
            Self::Steps(due) => {
                let step = ((place * due.len() as f64) as usize).min(due.len() - 1);
                let before = if step == 0 { 0.0 } else { due[step - 1] };
                before + (due[step] - before) * (place * due.len() as f64 - step as f64)
            }
        }
    }

    /// Place at which a share of the frames is due: the inverse.
    pub(crate) fn place_of(&self, share: f64) -> f64 {
        match self {
            Self::Burst(duty) => share * duty,
            Self::Sawtooth(a) => fall(*a, share),
            Self::Triangle(a) if share <= 0.5 => fall(*a, 2.0 * share) / 2.0,
            Self::Triangle(a) => 1.0 - fall(*a, 2.0 - 2.0 * share) / 2.0,
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

/// Integral of 1 - a + 2 a p.
fn rise(a: f64, place: f64) -> f64 {
    (1.0 - a) * place + a * place * place
}

/// Its inverse, in the form that does not divide by a.
fn fall(a: f64, share: f64) -> f64 {
    let slope = 1.0 - a;
    let root = (slope * slope + 4.0 * a * share).sqrt();
    if slope + root == 0.0 { 0.0 } else { 2.0 * share / (slope + root) }
}

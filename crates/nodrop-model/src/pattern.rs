//! Load variation within a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The shape of a trial's load over time; its mean over the trial is the intended load.
///
/// The period is adjusted so that a whole number of periods fits the trial. In the formulas, m is the mean load, a the
/// amplitude, and p the phase in a period from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LoadPattern {
    /// m, constant.
    #[default]
    Flat,
    /// m / duty in the first part of each period, then nothing.
    Burst {
        /// Length of a period.
        period_s: f64,
        /// Share of the period in which frames are sent; above 0, at most 1.
        duty_ratio: f64,
    },
    /// m (1 - a + 2 a p): rises, then drops at once.
    Sawtooth {
        /// Length of a period.
        period_s: f64,
        /// From 0 to 1.
        amplitude_ratio: f64,
    },
    /// m (1 - a) to m (1 + a) and back.
    Triangle {
        /// Length of a period.
        period_s: f64,
        /// From 0 to 1.
        amplitude_ratio: f64,
    },
    /// m (1 + a sin 2πp).
    Sinusoid {
        /// Length of a period.
        period_s: f64,
        /// From 0 to 1.
        amplitude_ratio: f64,
    },
    /// From m (1 - a) to m (1 + a) in equal steps of equal length.
    Stair {
        /// Length of the entire stair.
        period_s: f64,
        /// From 0 to 1.
        amplitude_ratio: f64,
        /// At least 2.
        step_count: u32,
        /// Direction of the steps.
        direction: StairDirection,
    },
    /// A random load in each period, uniformly distributed from m (1 - a) to m (1 + a); scaled so that the mean is m.
    Random {
        /// Duration of each load.
        period_s: f64,
        /// From 0 to 1.
        amplitude_ratio: f64,
        /// The same seed gives the same loads.
        seed: u64,
    },
    /// Gaps drawn from an exponential distribution, scaled so that the mean is m.
    Poisson {
        /// The same seed gives the same gaps.
        seed: u64,
    },
}

/// Direction of a stair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StairDirection {
    /// From the lowest load to the highest.
    Up,
    /// From the highest load to the lowest.
    Down,
    /// Up, then down.
    UpDown,
}

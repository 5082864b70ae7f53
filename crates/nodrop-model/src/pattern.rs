//! How a trial's load varies while it runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The course of a trial's load; its mean over the trial is the intended load.
///
/// A period is made to fit the trial a whole number of times. In the formulas m is the mean load, a the amplitude, p the
/// place in a period from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LoadPattern {
    /// m, always.
    #[default]
    Flat,
    /// m / duty for the first part of each period, then nothing.
    Burst {
        /// Length of a period.
        period_s: f64,
        /// Share of it in which frames are sent; above 0, at most 1.
        duty_ratio: f64,
    },
    /// m (1 - a + 2 a p): rises, then falls at once.
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
    /// From m (1 - a) to m (1 + a) in equal steps of equal length; then again, or down, or up and down.
    Stair {
        /// Length of the whole stair.
        period_s: f64,
        /// From 0 to 1.
        amplitude_ratio: f64,
        /// At least 2.
        step_count: u32,
        /// Which way it goes.
        direction: StairDirection,
    },
    /// In each period another load, drawn evenly from m (1 - a) to m (1 + a); scaled so that the mean is m.
    Random {
        /// How long a load stays.
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

/// Which way a stair goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StairDirection {
    /// From the lowest load to the highest.
    Up,
    /// From the highest load to the lowest.
    Down,
    /// Up, then down again.
    UpDown,
}

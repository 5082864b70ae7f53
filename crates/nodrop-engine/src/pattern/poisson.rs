//! Departures with exponentially distributed gaps, as a pure function of the frame number.

use super::random;

/// Number of frames between two stored departures; those in between are recomputed.
const BLOCK: u64 = 16;

/// The departures of one port, scaled so that all gaps add up to the trial.
#[derive(Debug)]
pub(crate) struct Poisson {
    seed: u64,
    frame_count: u64,
    /// Start of each block, as a share of the trial.
    begins: Vec<f64>,
    scale: f64,
}

impl Poisson {
    /// Maximum number of frames; needs 128 MiB.
    pub(crate) const FRAMES_MAX: u64 = 1 << 28;

    pub(crate) fn new(frame_count: u64, seed: u64) -> Self {
        let mut begins = Vec::with_capacity((frame_count / BLOCK + 1) as usize);
        let mut time = 0.0;
        for n in 0..frame_count {
            if n.is_multiple_of(BLOCK) {
                begins.push(time);
            }
            time += gap(seed, n);
        }
        let scale = 1.0 / time;
        begins.iter_mut().for_each(|begin| *begin *= scale);
        Self { seed, frame_count, begins, scale }
    }

    pub(crate) fn time_share(&self, n: u64) -> f64 {
        if n >= self.frame_count {
            return 1.0;
        }
        let gaps: f64 = (n - n % BLOCK..n).map(|before| gap(self.seed, before)).sum();
        self.begins[(n / BLOCK) as usize] + gaps * self.scale
    }

    pub(crate) fn due_count(&self, time_share: f64) -> u64 {
        let block = self.begins.partition_point(|begin| *begin <= time_share).saturating_sub(1) as u64;
        let mut due = block * BLOCK;
        let mut time = self.begins[block as usize];
        while due < self.frame_count && time <= time_share {
            time += gap(self.seed, due) * self.scale;
            due += 1;
        }
        due
    }
}

/// Return the gap after frame `n`, with mean 1.
fn gap(seed: u64, n: u64) -> f64 {
    -random::share(seed, n).ln()
}

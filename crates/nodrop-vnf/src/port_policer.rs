//! The policer of a port: colors of frames in their headers, before and after the token buckets.

use crate::color::{read_color, write_color};
use crate::{BandwidthProfile, Color, Policer};

/// Bytes of the FCS, which a port removes and bandwidth profiles count.
const FCS_BYTES: usize = 4;

/// Use of the color that a frame arrives with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorMode {
    /// None: every frame can become green.
    #[default]
    Blind,
    /// Yellow frames cannot become green.
    Aware,
}

/// A policer of the frames that a port receives.
#[derive(Clone, Debug)]
pub struct PortPolicer {
    policer: Policer,
    color_mode: ColorMode,
    marks: bool,
}

impl PortPolicer {
    /// Create a policer with full buckets; if `marks`, it writes the color of each frame into its header.
    #[must_use]
    pub fn new(profile: &BandwidthProfile, color_mode: ColorMode, marks: bool) -> Self {
        Self { policer: Policer::new(profile), color_mode, marks }
    }

    /// Return the color of a frame, without FCS, that arrived at this time, in nanoseconds.
    pub fn color(&mut self, frame: &mut [u8], time_ns: u64) -> Color {
        let arriving = match self.color_mode {
            ColorMode::Blind => Color::Green,
            ColorMode::Aware => read_color(frame),
        };
        let color = self.policer.classify(frame.len() + FCS_BYTES, arriving, time_ns);
        if self.marks && color != Color::Red {
            write_color(frame, color);
        }
        color
    }
}

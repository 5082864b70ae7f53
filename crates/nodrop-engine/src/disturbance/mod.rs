//! Disturbances of a trial by other work on this machine: their detection, and the time and frames that they affect.

mod cpu_speed;
mod other_work;
mod slots;
mod thread_watch;

pub(crate) use cpu_speed::{SpeedHistories, SpeedSamplers, SpeedWatch};
pub(crate) use other_work::OtherWorkMeter;
pub(crate) use slots::{SlotEnd, Slots};
pub(crate) use thread_watch::ThreadWatch;

//! Self-paced ports: they get the whole schedule up front and are then only monitored.
//!
//! Callers get the egress port from [`crate::Transmit::egress_port`] and need not know which back end serves it.

use crate::timetable::{Progress, Report, Timetable, TrialWindow};
use crate::{PortError, xdp_live};

/// Return the reason why timetables cannot be sent by self-paced ports; None if they can.
#[must_use]
pub fn unsupported_reason(timetables: &[Timetable<'_>]) -> Option<String> {
    xdp_live::unsupported_reason(timetables)
}

/// Send from all these ports until their timetables end. `on_progress` is called repeatedly with the index of a port and its
/// counts.
///
/// # Errors
/// If the frames are not supported, or the kernel rejects the program.
pub fn send(
    timetables: &[Timetable<'_>],
    window: TrialWindow<'_>,
    on_progress: impl Fn(usize, &Progress) + Sync,
) -> Result<Vec<Report>, PortError> {
    xdp_live::send(timetables, window, &on_progress)
}

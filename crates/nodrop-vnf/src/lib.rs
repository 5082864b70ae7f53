//! Forwarders that stand in for a VNF.
//!
//! A [`Forwarder`] moves frames between ports on one thread and keeps account of them; what becomes of a frame is decided
//! by a [`Network`] function, which is pure: the [`CrossConnect`], what testpmd in `mac` mode is in a loopback VM, the
//! [`Router`], or the [`EdgeSwitch`] between a tester's port and many chains. [`Redirect`] stands apart: there the drivers
//! forward.

mod counters;
mod edge;
mod flows;
mod forwarder;
mod frame;
mod l2;
mod l3;
mod xdp;

pub use counters::{Cause, Counters};
pub use edge::{EdgeError, EdgePort, EdgeSwitch};
pub use flows::{ACCOUNT_BYTES, FlowTable};
pub use forwarder::{Forwarder, Pace, Port};
pub use frame::FrameBuffer;
pub use l2::CrossConnect;
pub use l3::{Neighbor, Router, RouterPort, StaticRoute};
pub use xdp::{Redirect, RedirectPort};

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves through this port.
    Forward(usize),
    /// It leaves through every port of this group.
    Flood(usize),
    /// It was for the forwarder itself, and what the buffer holds now is the answer, to leave through this port.
    Answer(usize),
    /// It was for the forwarder itself, and that is all.
    Consume,
    /// It goes no further.
    Drop(Cause),
    /// It goes no further, and what the buffer holds now asks for what was missing, to leave through this port.
    Ask(Cause, usize),
}

/// A function of the network: from a frame and the port it came in by to what becomes of it.
pub trait Network {
    /// Decide over a frame, and change it to what is to leave.
    ///
    /// `now_ms` is any clock that does not go back.
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, now_ms: u64) -> Verdict;

    /// The ports of a group, where frames are flooded.
    fn group(&self, _group: usize) -> &[usize] {
        &[]
    }
}

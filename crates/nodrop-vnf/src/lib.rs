//! Forwarders that act as a VNF.
//!
//! A [`Forwarder`] moves frames between ports on one thread and counts them. A [`Network`] function, which is pure,
//! decides about each frame: the [`CrossConnect`], equivalent to testpmd in `mac` mode in a loopback VM, the
//! [`Router`], the [`Bras`], the [`EdgeSwitch`] between a tester's port and many chains, or the [`Balancer`] before a pool of
//! instances. With [`Redirect`], the drivers forward instead.

mod arp;
mod balancer;
mod bras;
mod color;
mod counters;
mod edge;
mod flows;
mod forwarder;
mod frame;
mod ideal_queue;
mod ipv4;
mod l2;
mod l3;
mod policer;
mod port_policer;
mod xdp;

pub use balancer::{Balancer, HealthCheck, MoveSchedule, Selection, Withdrawal};
pub use bras::{
    Bras, BrasPort, BrasProfile, BrasSide, NEXT_HOPS_MAX, ROUTES_MAX, SUBSCRIBERS_MAX, TagPlan, TtlHandling,
};
pub use counters::{Cause, Counters};
pub use edge::{EdgeError, EdgePort, EdgeSwitch};
pub use flows::{ENTRY_BYTES as FLOW_ENTRY_BYTES, FlowTable};
pub use forwarder::{Forwarder, Pace, Port};
pub use frame::FrameBuffer;
pub use ideal_queue::IdealQueue;
pub use l2::CrossConnect;
pub use l3::{Neighbor, Router, RouterPort, StaticRoute};
pub use policer::{BandwidthProfile, Color, Policer};
pub use port_policer::{ColorMode, PortPolicer};
pub use xdp::{Redirect, RedirectPort};

/// Decision about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardingDecision {
    /// Send the frame through this port.
    Forward(usize),
    /// Send the frame through every port of this group.
    Flood(usize),
    /// The frame was addressed to the forwarder; send the reply in the buffer through this port.
    Reply(usize),
    /// The frame was addressed to the forwarder and needs no reply.
    Consume,
    /// Drop the frame.
    Drop(Cause),
    /// Drop the frame, and send the resolution request in the buffer through this port.
    Resolve(Cause, usize),
}

/// A network function: decides about a frame from its content and ingress port.
pub trait Network {
    /// Decide about a frame, and modify it to the frame to send.
    ///
    /// `now_ms` is from any monotonic clock.
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, now_ms: u64) -> ForwardingDecision;

    /// Return the time from which [`Network::originate`] has frames, in milliseconds; None if it never has any.
    fn due_ms(&self) -> Option<u64> {
        None
    }

    /// Write the next frame of the function's own that is due, and return the port to send it through; None if none is.
    fn originate(&mut self, _frame: &mut FrameBuffer, _now_ms: u64) -> Option<usize> {
        None
    }

    /// Return the ports of a group to flood.
    fn group(&self, _group: usize) -> &[usize] {
        &[]
    }

    /// Return the sizes of the tables that frames fill, by name.
    fn table_sizes(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

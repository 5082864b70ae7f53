//! All back ends as one type, selected at run time.

use std::os::fd::BorrowedFd;

use crate::af_packet::{PacketRx, PacketTx};
use crate::af_xdp::{XdpRx, XdpTx};
use crate::dpdk::{DpdkRx, DpdkTx};
use crate::fault::FaultRx;
use crate::loopback::{LoopbackRx, LoopbackTx};
use crate::relay::{RelayRx, RelayTx};
use crate::split_port::{NeighborRx, SharedRx, SharedTx};
use crate::timetable::EgressPort;
use crate::xdp_live::LiveTx;
use crate::{Fill, PortError, Receive, ReceivedFrame, Transmit, WireInfo};

/// The sending half of any back end.
#[allow(clippy::large_enum_variant)] // few instances, each as long-lived as the program
#[derive(Debug)]
pub enum AnyTx {
    /// In-memory port.
    Loopback(LoopbackTx),
    /// Linux packet socket.
    AfPacket(PacketTx),
    /// AF_XDP socket.
    AfXdp(XdpTx),
    /// XDP program that generates frames.
    XdpLive(LiveTx),
    /// DPDK device.
    Dpdk(DpdkTx),
    /// Another program, over a datagram socket.
    Relay(RelayTx),
    /// A port shared by trials and the responder.
    Shared(SharedTx<AnyTx>),
}

/// The receiving half of any back end.
#[allow(clippy::large_enum_variant)] // as above
#[derive(Debug)]
pub enum AnyRx {
    /// In-memory port, optionally with injected faults.
    Loopback(FaultRx<LoopbackRx>),
    /// Linux packet socket.
    AfPacket(PacketRx),
    /// AF_XDP sockets.
    AfXdp(XdpRx),
    /// DPDK device.
    Dpdk(DpdkRx),
    /// Another program, over a datagram socket.
    Relay(RelayRx),
    /// The trials' half of a shared port.
    Shared(SharedRx<AnyRx>),
    /// The responder's half of a shared port.
    Neighbor(NeighborRx<AnyRx>),
}

/// Call a method of the port, whichever variant it is.
macro_rules! delegate {
    ($any:expr, [$($variant:ident),+], $method:ident $arguments:tt) => {
        match $any {
            $(Self::$variant(port) => port.$method $arguments,)+
        }
    };
}

macro_rules! delegate_tx {
    ($any:expr, $method:ident $arguments:tt) => {
        delegate!($any, [Loopback, AfPacket, AfXdp, XdpLive, Dpdk, Relay, Shared], $method $arguments)
    };
}

macro_rules! delegate_rx {
    ($any:expr, $method:ident $arguments:tt) => {
        delegate!($any, [Loopback, AfPacket, AfXdp, Dpdk, Relay, Shared, Neighbor], $method $arguments)
    };
}

impl Transmit for AnyTx {
    #[inline]
    fn transmit(&mut self, count: usize, frame_len_max: usize, fill: impl Fill) -> Result<usize, PortError> {
        delegate_tx!(self, transmit(count, frame_len_max, fill))
    }

    #[inline]
    fn batch_max(&self) -> u64 {
        delegate_tx!(self, batch_max())
    }

    fn egress_port(&self) -> Option<EgressPort> {
        delegate_tx!(self, egress_port())
    }
}

impl Receive for AnyRx {
    #[inline]
    fn receive(&mut self, budget: usize, sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        delegate_rx!(self, receive(budget, sink))
    }

    fn receive_with_wire_info(
        &mut self,
        budget: usize,
        sink: impl FnMut(ReceivedFrame<'_>, WireInfo),
    ) -> Result<usize, PortError> {
        delegate_rx!(self, receive_with_wire_info(budget, sink))
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        delegate_rx!(self, take_drop_count())
    }

    fn queue_slots(&self) -> u32 {
        delegate_rx!(self, queue_slots())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        delegate_rx!(self, descriptor())
    }

    fn stamps_on_arrival(&self) -> bool {
        delegate_rx!(self, stamps_on_arrival())
    }
}

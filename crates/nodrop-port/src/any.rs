//! All back ends as one type, for programs that choose at run time.

use std::os::fd::BorrowedFd;

use crate::af_packet::{PacketRx, PacketTx};
use crate::af_xdp::{XdpRx, XdpTx};
use crate::dpdk::{DpdkRx, DpdkTx};
use crate::fault::FaultRx;
use crate::loopback::{LoopbackRx, LoopbackTx};
use crate::paced::Exit;
use crate::relay::{RelayRx, RelayTx};
use crate::shared::{AsideRx, SharedRx, SharedTx};
use crate::xdp_live::LiveTx;
use crate::{Fill, Original, PortError, Receive, Received, Transmit};

/// A sending half of any back end.
#[allow(clippy::large_enum_variant)] // a handful of ports exist, each for as long as the program
#[derive(Debug)]
pub enum AnyTx {
    /// In memory.
    Loopback(LoopbackTx),
    /// Linux packet socket.
    AfPacket(PacketTx),
    /// AF_XDP socket.
    AfXdp(XdpTx),
    /// XDP program.
    XdpLive(LiveTx),
    /// DPDK device.
    Dpdk(DpdkTx),
    /// Another program.
    Relay(RelayTx),
    /// One of these that trials and stations share.
    Shared(SharedTx<AnyTx>),
}

/// A receiving half of any back end.
#[allow(clippy::large_enum_variant)] // likewise
#[derive(Debug)]
pub enum AnyRx {
    /// In memory, spoiled where that was asked for.
    Loopback(FaultRx<LoopbackRx>),
    /// Linux packet socket.
    AfPacket(PacketRx),
    /// AF_XDP sockets.
    AfXdp(XdpRx),
    /// DPDK device.
    Dpdk(DpdkRx),
    /// Another program.
    Relay(RelayRx),
    /// One of these that trials share with stations.
    Shared(SharedRx<AnyRx>),
    /// The stations' part of it.
    Aside(AsideRx<AnyRx>),
}

impl Transmit for AnyTx {
    #[inline]
    fn transmit(&mut self, count: usize, frame_len_max: usize, fill: impl Fill) -> Result<usize, PortError> {
        match self {
            Self::Loopback(port) => port.transmit(count, frame_len_max, fill),
            Self::AfPacket(port) => port.transmit(count, frame_len_max, fill),
            Self::AfXdp(port) => port.transmit(count, frame_len_max, fill),
            Self::XdpLive(port) => port.transmit(count, frame_len_max, fill),
            Self::Dpdk(port) => port.transmit(count, frame_len_max, fill),
            Self::Relay(port) => port.transmit(count, frame_len_max, fill),
            Self::Shared(port) => port.transmit(count, frame_len_max, fill),
        }
    }

    #[inline]
    fn batch_max(&self) -> u64 {
        match self {
            Self::Loopback(port) => port.batch_max(),
            Self::AfPacket(port) => port.batch_max(),
            Self::AfXdp(port) => port.batch_max(),
            Self::XdpLive(port) => port.batch_max(),
            Self::Dpdk(port) => port.batch_max(),
            Self::Relay(port) => port.batch_max(),
            Self::Shared(port) => port.batch_max(),
        }
    }

    fn paced(&self) -> Option<Exit> {
        match self {
            Self::XdpLive(port) => port.paced(),
            Self::Loopback(_)
            | Self::AfPacket(_)
            | Self::AfXdp(_)
            | Self::Dpdk(_)
            | Self::Relay(_)
            | Self::Shared(_) => None,
        }
    }
}

impl Receive for AnyRx {
    #[inline]
    fn receive(&mut self, budget: usize, sink: impl FnMut(Received<'_>)) -> Result<usize, PortError> {
        match self {
            Self::Loopback(port) => port.receive(budget, sink),
            Self::AfPacket(port) => port.receive(budget, sink),
            Self::AfXdp(port) => port.receive(budget, sink),
            Self::Dpdk(port) => port.receive(budget, sink),
            Self::Relay(port) => port.receive(budget, sink),
            Self::Shared(port) => port.receive(budget, sink),
            Self::Aside(port) => port.receive(budget, sink),
        }
    }

    fn receive_original(
        &mut self,
        budget: usize,
        sink: impl FnMut(Received<'_>, Original),
    ) -> Result<usize, PortError> {
        match self {
            Self::Loopback(port) => port.receive_original(budget, sink),
            Self::AfPacket(port) => port.receive_original(budget, sink),
            Self::AfXdp(port) => port.receive_original(budget, sink),
            Self::Dpdk(port) => port.receive_original(budget, sink),
            Self::Relay(port) => port.receive_original(budget, sink),
            Self::Shared(port) => port.receive_original(budget, sink),
            Self::Aside(port) => port.receive_original(budget, sink),
        }
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        match self {
            Self::Loopback(port) => port.take_drop_count(),
            Self::AfPacket(port) => port.take_drop_count(),
            Self::AfXdp(port) => port.take_drop_count(),
            Self::Dpdk(port) => port.take_drop_count(),
            Self::Relay(port) => port.take_drop_count(),
            Self::Shared(port) => port.take_drop_count(),
            Self::Aside(port) => port.take_drop_count(),
        }
    }

    fn queue_slots(&self) -> u32 {
        match self {
            Self::Loopback(port) => port.queue_slots(),
            Self::AfPacket(port) => port.queue_slots(),
            Self::AfXdp(port) => port.queue_slots(),
            Self::Dpdk(port) => port.queue_slots(),
            Self::Relay(port) => port.queue_slots(),
            Self::Shared(port) => port.queue_slots(),
            Self::Aside(port) => port.queue_slots(),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Loopback(port) => port.descriptor(),
            Self::AfPacket(port) => port.descriptor(),
            Self::AfXdp(port) => port.descriptor(),
            Self::Dpdk(port) => port.descriptor(),
            Self::Relay(port) => port.descriptor(),
            Self::Shared(port) => port.descriptor(),
            Self::Aside(port) => port.descriptor(),
        }
    }

    fn stamps_on_arrival(&self) -> bool {
        match self {
            Self::Loopback(port) => port.stamps_on_arrival(),
            Self::AfPacket(port) => port.stamps_on_arrival(),
            Self::AfXdp(port) => port.stamps_on_arrival(),
            Self::Dpdk(port) => port.stamps_on_arrival(),
            Self::Relay(port) => port.stamps_on_arrival(),
            Self::Shared(port) => port.stamps_on_arrival(),
            Self::Aside(port) => port.stamps_on_arrival(),
        }
    }
}

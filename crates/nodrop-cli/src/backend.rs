//! Opens ports as requested.

use nodrop_engine::{EngineError, Port, Stream, self_pacing_unsupported_reason};
use nodrop_model::{Backend, CopyMode, FaultSpec, PortSpec};
use nodrop_port::backend::{AnyRx, AnyTx};
use nodrop_port::fault::{FaultRx, Faults};
use nodrop_port::memory::Pages;
use nodrop_port::xdp_live::LiveTx;
use nodrop_port::{PortError, af_packet, af_xdp, dpdk, loopback, relay};
use nodrop_wire::{Mark, Signature};
use std::collections::BTreeSet;

/// An open port and its properties.
pub(crate) struct OpenPort {
    pub(crate) port: Port<AnyTx, AnyRx>,
    pub(crate) backend: &'static str,
    pub(crate) why: String,
}

/// A port whose receiving half is open, and whose sending half may be missing.
struct ReceivingPort {
    tx: Option<AnyTx>,
    rx: AnyRx,
    backend: &'static str,
    why: String,
}

/// Open all ports: receiving halves first, because some senders need a receiver at the other end of the link.
pub(crate) fn open_all(specs: &[PortSpec], streams: &[Stream]) -> Result<Vec<OpenPort>, EngineError> {
    let mut peer = None;
    let receiver = |(index, spec): (usize, &PortSpec)| open_receiver(&PortContext { index, spec, streams }, &mut peer);
    let receivers = specs.iter().enumerate().map(receiver).collect::<Result<Vec<_>, _>>()?;
    let complete = |(index, (spec, port)): (usize, (&PortSpec, ReceivingPort))| {
        complete(&PortContext { index, spec, streams }, port)
    };
    specs.iter().zip(receivers).enumerate().map(complete).collect()
}

/// A port to open.
struct PortContext<'a> {
    index: usize,
    spec: &'a PortSpec,
    streams: &'a [Stream],
}

/// The other half of a loopback pair whose first half is open.
type LoopbackPeer = Option<(loopback::LoopbackTx, loopback::LoopbackRx)>;

fn open_receiver(context: &PortContext<'_>, peer: &mut LoopbackPeer) -> Result<ReceivingPort, EngineError> {
    let both = |(tx, rx), backend, why| ReceivingPort { tx: Some(tx), rx, backend, why };
    let spec = context.spec;
    if spec.faults.is_some() && spec.backend != Backend::Loopback {
        let message = format!("{}: faults are supported only by in-memory ports; use loopback", spec.interface);
        return Err(EngineError::Request(message));
    }
    Ok(match spec.backend {
        Backend::AfPacket => both(context.af_packet()?, "af_packet", String::new()),
        Backend::AfXdp => {
            let (tx, rx, mode) = af_xdp::open(&spec.interface, &context.xdp_options())?;
            both((AnyTx::AfXdp(tx), AnyRx::AfXdp(rx)), "af_xdp", mode.to_string())
        }
        Backend::XdpLive => {
            context.check_self_pacing()?;
            context.live_receiver(String::new())?
        }
        Backend::Auto => context.best_receiver()?,
        Backend::Dpdk => {
            let (tx, rx) = dpdk::open(&context.dpdk())?;
            both((AnyTx::Dpdk(tx), AnyRx::Dpdk(rx)), "dpdk", dpdk::describe(&spec.interface))
        }
        Backend::Relay => {
            let (tx, rx) = relay::open(&spec.interface, spec.queue_slots)?;
            both((AnyTx::Relay(tx), AnyRx::Relay(rx)), "relay", String::new())
        }
        Backend::Loopback => {
            let (tx, rx) = peer.take().unwrap_or_else(|| {
                let [near, far] = loopback::pair(spec.queue_slots);
                *peer = Some(far);
                near
            });
            both((AnyTx::Loopback(tx), AnyRx::Loopback(FaultRx::new(rx, faults(spec)))), "loopback", String::new())
        }
    })
}

fn faults(spec: &PortSpec) -> Faults {
    let FaultSpec { drop_every, repeat_every, delay_every, delay_frames, corrupt_every } =
        spec.faults.unwrap_or_default();
    Faults { drop_every, repeat_every, delay_every, delay_frames, corrupt_every }
}

fn complete(context: &PortContext<'_>, port: ReceivingPort) -> Result<OpenPort, EngineError> {
    let ReceivingPort { tx, rx, backend, why } = port;
    let name = context.spec.interface.clone();
    let open = |tx, rx, backend, why| Ok(OpenPort { port: Port { name: name.clone(), tx, rx }, backend, why });
    if let Some(tx) = tx {
        return open(tx, rx, backend, why);
    }
    match LiveTx::open(&context.spec.interface) {
        Ok(tx) => open(AnyTx::XdpLive(tx), rx, backend, why),
        Err(error) if context.spec.backend == Backend::Auto => {
            drop(rx);
            let (tx, rx) = context.af_packet()?;
            open(tx, rx, "af_packet", format!("not xdp_live: {error}"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Return DPDK's view of a port.
pub(crate) fn dpdk_port_spec<'a>(spec: &'a PortSpec, streams: &[Stream]) -> dpdk::DpdkPortSpec<'a> {
    let frame_len_max = streams.iter().map(|stream| stream.frames.frame_len_max()).max().unwrap_or(0);
    dpdk::DpdkPortSpec { device: &spec.interface, queue_slots: spec.queue_slots, frame_len_max }
}

impl PortContext<'_> {
    fn dpdk(&self) -> dpdk::DpdkPortSpec<'_> {
        dpdk_port_spec(self.spec, self.streams)
    }

    fn af_packet(&self) -> Result<(AnyTx, AnyRx), PortError> {
        let PortSpec { interface, queue_slots, .. } = self.spec;
        let (mark, offsets) = self.mark();
        let (tx, rx) = af_packet::open(interface, *queue_slots, mark.word, &offsets)?;
        Ok((AnyTx::AfPacket(tx), AnyRx::AfPacket(rx)))
    }

    /// Return the mark of test frames, and the offsets at which it may be in frames that arrive at this port.
    fn mark(&self) -> (Mark, Vec<usize>) {
        let form = self.streams.first().map(|stream| stream.frames.signature()).unwrap_or_default();
        let mark = Signature::mark(form);
        let incoming = self.streams.iter().filter(|stream| stream.rx_port == self.index);
        let offsets: BTreeSet<usize> = incoming
            .flat_map(|stream| stream.frames.rx_offsets())
            .map(|offset| offset.saturating_sub(mark.before))
            .collect();
        (mark, offsets.into_iter().collect())
    }

    fn xdp_options(&self) -> af_xdp::Options {
        let copying = match self.spec.copying {
            CopyMode::Auto => af_xdp::CopyMode::Auto,
            CopyMode::Copy => af_xdp::CopyMode::Copy,
            CopyMode::ZeroCopy => af_xdp::CopyMode::ZeroCopy,
        };
        let (mark, offsets) = self.mark();
        af_xdp::Options {
            queue_slots: self.spec.queue_slots,
            queues: self.spec.queues,
            copying,
            selection: af_xdp::FrameSelection::Marked { magic: mark.word, offsets },
            pages: Pages::Default,
        }
    }

    fn live_receiver(&self, why: String) -> Result<ReceivingPort, PortError> {
        let (rx, mode) = af_xdp::open_receiver(&self.spec.interface, &self.xdp_options())?;
        let why = if why.is_empty() { mode.to_string() } else { format!("{why}; {mode}") };
        Ok(ReceivingPort { tx: None, rx: AnyRx::AfXdp(rx), backend: "xdp_live", why })
    }

    /// Open zero-copy AF_XDP if supported, otherwise an XDP program if its frames leave the interface, otherwise packet
    /// sockets.
    fn best_receiver(&self) -> Result<ReceivingPort, EngineError> {
        let zero_copy = af_xdp::Options { copying: af_xdp::CopyMode::ZeroCopy, ..self.xdp_options() };
        if let Ok((tx, rx, mode)) = af_xdp::open(&self.spec.interface, &zero_copy) {
            let why = mode.to_string();
            return Ok(ReceivingPort { tx: Some(AnyTx::AfXdp(tx)), rx: AnyRx::AfXdp(rx), backend: "af_xdp", why });
        }
        let live = self.check_self_pacing().and_then(|()| Ok(self.live_receiver(String::new())?));
        live.or_else(|error| {
            let (tx, rx) = self.af_packet()?;
            Ok(ReceivingPort { tx: Some(tx), rx, backend: "af_packet", why: format!("not xdp_live: {error}") })
        })
    }

    /// Check that a self-paced port can send the streams.
    fn check_self_pacing(&self) -> Result<(), EngineError> {
        let outgoing = self.streams.iter().filter(|stream| stream.tx_port == self.index);
        let reason = self_pacing_unsupported_reason(outgoing.map(|stream| &stream.frames));
        reason.map_or(Ok(()), |message| Err(EngineError::Request(format!("{}: {message}", self.spec.interface))))
    }
}

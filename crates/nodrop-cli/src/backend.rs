//! From what was asked of a port to an open one.

use nodrop_engine::{EngineError, Port, Stream, paced_refusal};
use nodrop_model::{Backend, Copying, FaultSpec, PortSpec};
use nodrop_port::any::{AnyRx, AnyTx};
use nodrop_port::fault::{FaultRx, Faults};
use nodrop_port::memory::Pages;
use nodrop_port::xdp_live::LiveTx;
use nodrop_port::{PortError, af_packet, af_xdp, dpdk, loopback, relay};
use nodrop_wire::Signature;
use std::collections::BTreeSet;

/// A port with what the caller is told of it.
pub(crate) struct Opened {
    pub(crate) port: Port<AnyTx, AnyRx>,
    pub(crate) backend: &'static str,
    pub(crate) why: String,
}

/// A port on its way.
struct Receiving {
    tx: Option<AnyTx>,
    rx: AnyRx,
    backend: &'static str,
    why: String,
}

/// Open all ports: what receives first, since some senders need somebody at the other end of the wire.
pub(crate) fn open_all(specs: &[PortSpec], streams: &[Stream]) -> Result<Vec<Opened>, EngineError> {
    let mut wired = None;
    let receiving = |(index, spec): (usize, &PortSpec)| receiving(&Asked { index, spec, streams }, &mut wired);
    let receiving = specs.iter().enumerate().map(receiving).collect::<Result<Vec<_>, _>>()?;
    let complete =
        |(index, (spec, begun)): (usize, (&PortSpec, Receiving))| complete(&Asked { index, spec, streams }, begun);
    specs.iter().zip(receiving).enumerate().map(complete).collect()
}

/// What was asked of one port.
struct Asked<'a> {
    index: usize,
    spec: &'a PortSpec,
    streams: &'a [Stream],
}

type Wired = Option<(loopback::LoopbackTx, loopback::LoopbackRx)>;

fn receiving(asked: &Asked<'_>, wired: &mut Wired) -> Result<Receiving, EngineError> {
    let whole = |(tx, rx), backend, why| Receiving { tx: Some(tx), rx, backend, why };
    let spec = asked.spec;
    if spec.faults.is_some() && spec.backend != Backend::Loopback {
        let message = format!("{}: faults asked, only ports in memory have them; choose loopback", spec.interface);
        return Err(EngineError::Request(message));
    }
    Ok(match spec.backend {
        Backend::AfPacket => whole(asked.af_packet()?, "af_packet", String::new()),
        Backend::AfXdp => {
            let (tx, rx, found) = af_xdp::open(&spec.interface, &asked.xdp_options())?;
            whole((AnyTx::AfXdp(tx), AnyRx::AfXdp(rx)), "af_xdp", found.to_string())
        }
        Backend::XdpLive => {
            asked.check_paced()?;
            asked.live_receiver(String::new())?
        }
        Backend::Auto => asked.best_receiver()?,
        Backend::Dpdk => {
            let (tx, rx) = dpdk::open(&asked.dpdk())?;
            whole((AnyTx::Dpdk(tx), AnyRx::Dpdk(rx)), "dpdk", dpdk::describe(&spec.interface))
        }
        Backend::Relay => {
            let (tx, rx) = relay::open(&spec.interface, spec.queue_slots)?;
            whole((AnyTx::Relay(tx), AnyRx::Relay(rx)), "relay", String::new())
        }
        Backend::Loopback => {
            let (tx, rx) = wired.take().unwrap_or_else(|| {
                let [near, far] = loopback::pair(spec.queue_slots);
                *wired = Some(far);
                near
            });
            whole((AnyTx::Loopback(tx), AnyRx::Loopback(FaultRx::new(rx, faults(spec)))), "loopback", String::new())
        }
    })
}

fn faults(spec: &PortSpec) -> Faults {
    let FaultSpec { drop_every, repeat_every, delay_every, delay_frames, corrupt_every } =
        spec.faults.unwrap_or_default();
    Faults { drop_every, repeat_every, delay_every, delay_frames, corrupt_every }
}

fn complete(asked: &Asked<'_>, begun: Receiving) -> Result<Opened, EngineError> {
    let Receiving { tx, rx, backend, why } = begun;
    let name = asked.spec.interface.clone();
    let open = |tx, rx, backend, why| Ok(Opened { port: Port { name: name.clone(), tx, rx }, backend, why });
    if let Some(tx) = tx {
        return open(tx, rx, backend, why);
    }
    match LiveTx::open(&asked.spec.interface) {
        Ok(tx) => open(AnyTx::XdpLive(tx), rx, backend, why),
        Err(error) if asked.spec.backend == Backend::Auto => {
            drop(rx);
            let (tx, rx) = asked.af_packet()?;
            open(tx, rx, "af_packet", format!("not xdp_live: {error}"))
        }
        Err(error) => Err(error.into()),
    }
}

/// How DPDK is asked for a port.
pub(crate) fn asked_of_dpdk<'a>(spec: &'a PortSpec, streams: &[Stream]) -> dpdk::Asked<'a> {
    let frame_len_max = streams.iter().map(|stream| stream.frames.frame_len_max()).max().unwrap_or(0);
    dpdk::Asked { device: &spec.interface, queue_slots: spec.queue_slots, frame_len_max }
}

impl Asked<'_> {
    fn dpdk(&self) -> dpdk::Asked<'_> {
        asked_of_dpdk(self.spec, self.streams)
    }

    fn af_packet(&self) -> Result<(AnyTx, AnyRx), PortError> {
        let PortSpec { interface, queue_slots, .. } = self.spec;
        let (tx, rx) = af_packet::open(interface, *queue_slots, Signature::MAGIC_WORD, &self.signature_offsets())?;
        Ok((AnyTx::AfPacket(tx), AnyRx::AfPacket(rx)))
    }

    /// Where the signature may begin in frames that arrive at this port.
    fn signature_offsets(&self) -> Vec<usize> {
        let arriving = self.streams.iter().filter(|stream| stream.rx_port == self.index);
        let offsets: BTreeSet<usize> = arriving.flat_map(|stream| stream.frames.rx_offsets()).copied().collect();
        offsets.into_iter().collect()
    }

    fn xdp_options(&self) -> af_xdp::Options {
        let copying = match self.spec.copying {
            Copying::Auto => af_xdp::Copying::Auto,
            Copying::Copy => af_xdp::Copying::Copy,
            Copying::ZeroCopy => af_xdp::Copying::ZeroCopy,
        };
        af_xdp::Options {
            queue_slots: self.spec.queue_slots,
            queues: self.spec.queues,
            copying,
            wanted: af_xdp::Wanted::Marked { magic: Signature::MAGIC_WORD, offsets: self.signature_offsets() },
            pages: Pages::Usual,
        }
    }

    fn live_receiver(&self, why: String) -> Result<Receiving, PortError> {
        let (rx, found) = af_xdp::open_receiver(&self.spec.interface, &self.xdp_options())?;
        let why = if why.is_empty() { found.to_string() } else { format!("{why}; {found}") };
        Ok(Receiving { tx: None, rx: AnyRx::AfXdp(rx), backend: "xdp_live", why })
    }

    /// Zero-copy AF_XDP; else what an XDP program can send where that gets through; else packet sockets.
    fn best_receiver(&self) -> Result<Receiving, EngineError> {
        let zero_copy = af_xdp::Options { copying: af_xdp::Copying::ZeroCopy, ..self.xdp_options() };
        if let Ok((tx, rx, found)) = af_xdp::open(&self.spec.interface, &zero_copy) {
            let why = found.to_string();
            return Ok(Receiving { tx: Some(AnyTx::AfXdp(tx)), rx: AnyRx::AfXdp(rx), backend: "af_xdp", why });
        }
        let live = self.check_paced().and_then(|()| Ok(self.live_receiver(String::new())?));
        live.or_else(|error| {
            let (tx, rx) = self.af_packet()?;
            Ok(Receiving { tx: Some(tx), rx, backend: "af_packet", why: format!("not xdp_live: {error}") })
        })
    }

    /// Refuse streams that a port cannot send which keeps its timetable by itself.
    fn check_paced(&self) -> Result<(), EngineError> {
        let leaving = self.streams.iter().filter(|stream| stream.tx_port == self.index);
        let refusal = paced_refusal(leaving.map(|stream| &stream.frames));
        refusal.map_or(Ok(()), |message| Err(EngineError::Request(format!("{}: {message}", self.spec.interface))))
    }
}

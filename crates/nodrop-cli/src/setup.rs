//! From an `open` request to an engine.

use std::collections::BTreeSet;

use nodrop_engine::{Engine, EngineError, Port, Stream};
use nodrop_model::{Backend, Open, Opened, PortFacts, PortSpec, StreamSpec};
use nodrop_port::any::{AnyRx, AnyTx};
use nodrop_port::clock::SystemClock;
use nodrop_port::{Receive, af_packet, dpdk, loopback, thread};
use nodrop_wire::{Frames, Signature};

/// The engine with every back end and the kernel's clocks.
pub type HostEngine = Engine<AnyTx, AnyRx, SystemClock>;

type AnyPort = Port<AnyTx, AnyRx>;

/// Open ports, build templates.
///
/// # Errors
/// When a port cannot be opened, or a stream cannot be built; the message names it.
pub fn open(request: &Open) -> Result<(HostEngine, Opened), EngineError> {
    if !request.cores.is_empty() {
        // Also the threads that only listen and watch: they must not wake up on the SUT's CPU.
        thread::bind_to_cores(&request.cores)?;
    }
    let streams = request.streams.iter().map(stream).collect::<Result<Vec<_>, _>>()?;
    let frame_len_max = streams.iter().map(|stream| stream.frames.frame_len_max()).max().unwrap_or(0);
    let dpdk_ports = request.ports.iter().filter(|spec| spec.backend == Backend::Dpdk);
    let dpdk_ports: Vec<_> = dpdk_ports.map(|spec| asked_of_dpdk(spec, frame_len_max)).collect();
    dpdk::start(&dpdk_ports, request.cores.first().copied())?;
    let ports = open_ports(&request.ports, &streams, frame_len_max)?;
    let facts = ports.iter().zip(&request.ports).map(|(port, spec)| facts(port, spec)).collect();
    let engine = Engine::new(ports, streams, request.cores.clone(), SystemClock)?;
    let opened = Opened { ports: facts, thread_count: engine.thread_count() };
    Ok((engine, opened))
}

fn open_ports(specs: &[PortSpec], streams: &[Stream], frame_len_max: usize) -> Result<Vec<AnyPort>, EngineError> {
    let mut ports = Vec::new();
    let mut wired = None;
    for (index, spec) in specs.iter().enumerate() {
        let (tx, rx) = match spec.backend {
            Backend::AfPacket => {
                let offsets = signature_offsets(index, streams);
                let (tx, rx) = af_packet::open(&spec.interface, spec.queue_slots, Signature::MAGIC_WORD, &offsets)?;
                (AnyTx::AfPacket(tx), AnyRx::AfPacket(rx))
            }
            Backend::Dpdk => {
                let (tx, rx) = dpdk::open(&asked_of_dpdk(spec, frame_len_max))?;
                (AnyTx::Dpdk(tx), AnyRx::Dpdk(rx))
            }
            Backend::Loopback => {
                let (tx, rx) = wired.take().unwrap_or_else(|| {
                    let [near, far] = loopback::pair(spec.queue_slots);
                    wired = Some(far);
                    near
                });
                (AnyTx::Loopback(tx), AnyRx::Loopback(rx))
            }
        };
        ports.push(Port { name: spec.interface.clone(), tx, rx });
    }
    Ok(ports)
}

fn asked_of_dpdk(spec: &PortSpec, frame_len_max: usize) -> dpdk::Asked<'_> {
    dpdk::Asked { device: &spec.interface, queue_slots: spec.queue_slots, frame_len_max }
}

/// Where the signature may begin in frames that arrive at this port.
fn signature_offsets(port: usize, streams: &[Stream]) -> Vec<usize> {
    let arriving = streams.iter().filter(|stream| stream.rx_port == port);
    let offsets: BTreeSet<usize> = arriving.flat_map(|stream| stream.frames.rx_offsets()).copied().collect();
    offsets.into_iter().collect()
}

fn facts(port: &AnyPort, spec: &PortSpec) -> PortFacts {
    let backend = match spec.backend {
        Backend::AfPacket => "af_packet",
        Backend::Dpdk => "dpdk",
        Backend::Loopback => "loopback",
    };
    PortFacts { interface: port.name.clone(), backend: backend.to_owned(), queue_slots: port.rx.queue_slots() }
}

fn stream(spec: &StreamSpec) -> Result<Stream, EngineError> {
    let frames =
        Frames::new(spec).map_err(|error| EngineError::Request(format!("stream {}: {error}", spec.stream_id)))?;
    Ok(Stream { frames, tx_port: spec.tx_port, rx_port: spec.rx_port })
}

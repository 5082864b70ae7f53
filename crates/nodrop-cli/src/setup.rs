//! From an `open` request to an engine.

use nodrop_engine::{Engine, EngineError, Stream};
use nodrop_model::{Backend, Open, Opened, PortFacts, StreamSpec, Timestamping};
use nodrop_port::any::{AnyRx, AnyTx};
use nodrop_port::clock::SystemClock;
use nodrop_port::observe::timestamping;
use nodrop_port::{Receive, dpdk, thread};
use nodrop_wire::Frames;

use crate::backend::{self, asked_of_dpdk, open_all};
use crate::doors::{HostNeighbors, attend, furnish};
use crate::replay;

/// The engine with every back end and the kernel's clocks.
pub type HostEngine = Engine<AnyTx, AnyRx, SystemClock>;

/// Open ports, build templates; gives also the stations at work, where there are any.
///
/// # Errors
/// When a port cannot be opened, or a stream or station cannot be as asked; the message names it.
pub fn open(request: &Open) -> Result<(HostEngine, Option<HostNeighbors>, Opened), EngineError> {
    if !request.cores.is_empty() {
        // Also the threads that only listen and watch: they must not wake up on the SUT's CPU.
        thread::bind_to_cores(&request.cores)?;
    }
    let streams = request.streams.iter().map(stream).collect::<Result<Vec<_>, _>>()?;
    let dpdk_ports = request.ports.iter().filter(|spec| spec.backend == Backend::Dpdk);
    let dpdk_ports: Vec<_> = dpdk_ports.map(|spec| asked_of_dpdk(spec, &streams)).collect();
    dpdk::start(&dpdk_ports, request.cores.first().copied(), request.huge_pages)?;
    let opened = open_all(&request.ports, &streams)?;
    let facts = opened.iter().map(facts).collect();
    let (mut ports, mut doors) = (Vec::new(), Vec::new());
    for (index, (spec, opened)) in request.ports.iter().zip(opened).enumerate() {
        let (port, door) = furnish(index, spec, opened.port)?;
        ports.push(port);
        doors.extend(door);
    }
    let engine = Engine::new(ports, streams, request.cores.clone(), SystemClock)?;
    let opened = Opened { ports: facts, thread_count: engine.thread_count() };
    Ok((engine, attend(doors, request.announce_every_s)?, opened))
}

fn facts(opened: &backend::Opened) -> PortFacts {
    let interface = &opened.port.name;
    let stamps = (opened.backend != "loopback").then(|| timestamping(interface)).flatten();
    PortFacts {
        interface: interface.clone(),
        backend: opened.backend.to_owned(),
        why: opened.why.clone(),
        queue_slots: opened.port.rx.queue_slots(),
        timestamping: stamps.map(|found| Timestamping {
            software: found.software,
            hardware: found.hardware,
            phc_index: found.phc_index,
        }),
    }
}

fn stream(spec: &StreamSpec) -> Result<Stream, EngineError> {
    let frames = match &spec.replay {
        Some(asked) => replay::frames(spec, asked)?.frames,
        None => {
            Frames::new(spec).map_err(|error| EngineError::Request(format!("stream {}: {error}", spec.stream_id)))?
        }
    };
    Ok(Stream { frames, tx_port: spec.tx_port, rx_port: spec.rx_port })
}

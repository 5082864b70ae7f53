//! Opens an engine as an `open` request specifies.

use nodrop_engine::{Engine, EngineError, Stream};
use nodrop_model::{Backend, OpenReply, OpenRequest, PortFacts, StreamSpec, Timestamping};
use nodrop_port::backend::{AnyRx, AnyTx};
use nodrop_port::clock::SystemClock;
use nodrop_port::observe::timestamping;
use nodrop_port::{Receive, dpdk, thread};
use nodrop_wire::Frames;

use crate::backend::{OpenPort, dpdk_port_spec, open_all};
use crate::replay;
use crate::station_ports::{self, HostNeighbors};

/// The engine with all back ends and the kernel's clocks.
pub type HostEngine = Engine<AnyTx, AnyRx, SystemClock>;

/// Open ports and build templates; also return the stations, if there are any.
///
/// # Errors
/// If a port cannot be opened, or a stream or station is invalid; the message names it.
pub fn open(request: &OpenRequest) -> Result<(HostEngine, Option<HostNeighbors>, OpenReply), EngineError> {
    if !request.cores.is_empty() {
        // Also pins helper threads, which must not wake up on the SUT's CPU.
        thread::bind_to_cores(&request.cores)?;
    }
    let streams = request.streams.iter().map(stream).collect::<Result<Vec<_>, _>>()?;
    let dpdk_ports = request.ports.iter().filter(|spec| spec.backend == Backend::Dpdk);
    let dpdk_ports: Vec<_> = dpdk_ports.map(|spec| dpdk_port_spec(spec, &streams)).collect();
    dpdk::start(&dpdk_ports, request.cores.first().copied(), request.huge_pages)?;
    let opened = open_all(&request.ports, &streams)?;
    let facts = opened.iter().map(port_facts).collect();
    let (mut ports, mut stations) = (Vec::new(), Vec::new());
    for (index, (spec, opened)) in request.ports.iter().zip(opened).enumerate() {
        let (port, station_port) = station_ports::open(index, spec, opened.port)?;
        ports.push(port);
        stations.extend(station_port);
    }
    let engine = Engine::new(ports, streams, request.cores.clone(), SystemClock)?;
    let opened = OpenReply { ports: facts, thread_count: engine.thread_count() };
    Ok((engine, station_ports::start(stations, request.announce_every_s)?, opened))
}

fn port_facts(opened: &OpenPort) -> PortFacts {
    let interface = &opened.port.name;
    let capabilities = (opened.backend != "loopback").then(|| timestamping(interface)).flatten();
    PortFacts {
        interface: interface.clone(),
        backend: opened.backend.to_owned(),
        why: opened.why.clone(),
        queue_slots: opened.port.rx.queue_slots(),
        timestamping: capabilities.map(|found| Timestamping {
            software: found.software,
            hardware: found.hardware,
            phc_index: found.phc_index,
        }),
    }
}

fn stream(spec: &StreamSpec) -> Result<Stream, EngineError> {
    let frames = match &spec.replay {
        Some(replay_spec) => replay::frames(spec, replay_spec)?.frames,
        None => {
            Frames::new(spec).map_err(|error| EngineError::Request(format!("stream {}: {error}", spec.stream_id)))?
        }
    };
    Ok(Stream { frames, tx_port: spec.tx_port, rx_port: spec.rx_port })
}

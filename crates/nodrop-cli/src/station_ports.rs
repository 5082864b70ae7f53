//! Ports for the stations: packet sockets in addition to the port of the test frames; for kernel-bypass ports, the port
//! itself, split between trials and stations.

use nodrop_engine::{EngineError, Neighbors, Port, StationPort};
use nodrop_model::{Backend, PortSpec};
use nodrop_port::backend::{AnyRx, AnyTx};
use nodrop_port::{af_packet, split_port};
use nodrop_wire::NeighborMessage;

/// The tester's stations on ports of any back end.
pub type HostNeighbors = Neighbors<AnyTx>;

/// A port, and its station port if it has stations.
type PortWithStations = (Port<AnyTx, AnyRx>, Option<StationPort<AnyTx, AnyRx>>);

/// Open the station port of a port with stations.
pub(crate) fn open(index: usize, spec: &PortSpec, port: Port<AnyTx, AnyRx>) -> Result<PortWithStations, EngineError> {
    if spec.stations.is_empty() {
        return Ok((port, None));
    }
    let Port { name, tx, rx } = port;
    let (tx, rx, station) = if matches!(spec.backend, Backend::Dpdk | Backend::Loopback | Backend::Relay) {
        let ((tx, rx), (station_tx, station_rx)) =
            split_port::split(tx, rx, |frame| NeighborMessage::parse(frame).is_some());
        (AnyTx::Shared(tx), AnyRx::Shared(rx), (AnyTx::Shared(station_tx), vec![AnyRx::Neighbor(station_rx)]))
    } else {
        let tagged = spec.stations.iter().any(|station| !station.tags.is_empty());
        let (station_tx, receivers) = af_packet::open_neighbors(&spec.interface, tagged)?;
        (tx, rx, (AnyTx::AfPacket(station_tx), receivers.into_iter().map(AnyRx::AfPacket).collect()))
    };
    let (station_tx, receivers) = station;
    let station_port =
        StationPort { port: index, name: name.clone(), stations: spec.stations.clone(), tx: station_tx, receivers };
    Ok((Port { name, tx, rx }, Some(station_port)))
}

/// Start all stations; None if there are none.
pub(crate) fn start(
    ports: Vec<StationPort<AnyTx, AnyRx>>,
    announce_every_s: Option<f64>,
) -> Result<Option<HostNeighbors>, EngineError> {
    if ports.is_empty() { Ok(None) } else { Neighbors::start(ports, announce_every_s).map(Some) }
}

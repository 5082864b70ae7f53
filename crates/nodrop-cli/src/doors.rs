//! Doors for the stations of ports: packet sockets beside whatever sends and receives test frames there; where no kernel
//! stands behind a port, the port itself, shared with the trials.

use nodrop_engine::{Door, EngineError, Neighbors, Port};
use nodrop_model::{Backend, PortSpec};
use nodrop_port::any::{AnyRx, AnyTx};
use nodrop_port::{af_packet, shared};
use nodrop_wire::Heard;

/// The tester's stations, behind whatever back ends.
pub type HostNeighbors = Neighbors<AnyTx>;

/// A port and, where it has stations, the door to them.
type Furnished = (Port<AnyTx, AnyRx>, Option<Door<AnyTx, AnyRx>>);

/// Give a port a door if it has stations.
pub(crate) fn furnish(index: usize, spec: &PortSpec, port: Port<AnyTx, AnyRx>) -> Result<Furnished, EngineError> {
    if spec.stations.is_empty() {
        return Ok((port, None));
    }
    let Port { name, tx, rx } = port;
    let (tx, rx, door) = if matches!(spec.backend, Backend::Dpdk | Backend::Loopback | Backend::Relay) {
        let ((tx, rx), (door_tx, door_rx)) = shared::share(tx, rx, |frame| Heard::parse(frame).is_some());
        (AnyTx::Shared(tx), AnyRx::Shared(rx), (AnyTx::Shared(door_tx), vec![AnyRx::Aside(door_rx)]))
    } else {
        let tagged = spec.stations.iter().any(|station| !station.tags.is_empty());
        let (door_tx, receivers) = af_packet::open_neighbors(&spec.interface, tagged)?;
        (tx, rx, (AnyTx::AfPacket(door_tx), receivers.into_iter().map(AnyRx::AfPacket).collect()))
    };
    let (door_tx, receivers) = door;
    let door = Door { port: index, name: name.clone(), stations: spec.stations.clone(), tx: door_tx, receivers };
    Ok((Port { name, tx, rx }, Some(door)))
}

/// All stations at work; None where there are none.
pub(crate) fn attend(
    doors: Vec<Door<AnyTx, AnyRx>>,
    announce_every_s: Option<f64>,
) -> Result<Option<HostNeighbors>, EngineError> {
    if doors.is_empty() { Ok(None) } else { Neighbors::start(doors, announce_every_s).map(Some) }
}

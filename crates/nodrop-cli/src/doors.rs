//! Doors for the stations of ports: packet sockets beside whatever sends and receives test frames there.

use nodrop_engine::{Door, EngineError, Neighbors};
use nodrop_model::{Backend, PortSpec};
use nodrop_port::af_packet::{self, PacketTx};

/// Stations on interfaces of the kernel.
pub type HostNeighbors = Neighbors<PacketTx>;

/// All stations of these ports at work; None where there is none.
pub(crate) fn neighbors_of(
    specs: &[PortSpec],
    announce_every_s: Option<f64>,
) -> Result<Option<HostNeighbors>, EngineError> {
    let doors = specs.iter().enumerate().filter(|(_, spec)| !spec.stations.is_empty()).map(door);
    let doors = doors.collect::<Result<Vec<_>, _>>()?;
    if doors.is_empty() {
        return Ok(None);
    }
    Neighbors::start(doors, announce_every_s).map(Some)
}

fn door((port, spec): (usize, &PortSpec)) -> Result<Door<PacketTx, af_packet::PacketRx>, EngineError> {
    let interface = kernel_interface(spec)?;
    let tagged = spec.stations.iter().any(|station| !station.tags.is_empty());
    let (tx, receivers) = af_packet::open_neighbors(interface, tagged)?;
    Ok(Door { port, name: interface.to_owned(), stations: spec.stations.clone(), tx, receivers })
}

/// The interface at which the kernel sees what the port does not take for test frames.
fn kernel_interface(spec: &PortSpec) -> Result<&str, EngineError> {
    let of_device = || {
        let mut arguments = spec.interface.strip_prefix("net_af_packet")?.split(',');
        arguments.find_map(|argument| argument.strip_prefix("iface="))
    };
    let found = match spec.backend {
        Backend::Auto | Backend::AfPacket | Backend::AfXdp | Backend::XdpLive => Some(spec.interface.as_str()),
        Backend::Dpdk => of_device(),
        Backend::Loopback => None,
    };
    found.ok_or_else(|| {
        EngineError::Request(format!(
            "{}: stations asked, no interface of the kernel is behind this port; choose af_packet, af_xdp, xdp_live or \
             dpdk over net_af_packet, or set the neighbours' MAC addresses by hand and leave out its stations",
            spec.interface
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(backend: &str, interface: &str) -> PortSpec {
        let spec = serde_json::json!({"backend": backend, "interface": interface, "queue_slots": 64});
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn stations_live_where_the_kernel_has_an_interface() {
        assert_eq!(kernel_interface(&spec("af_xdp", "tester0")).unwrap(), "tester0");
        assert_eq!(kernel_interface(&spec("dpdk", "net_af_packet0,qpairs=1,iface=tester1")).unwrap(), "tester1");
        for (backend, interface) in [("dpdk", "net_memif0,role=client"), ("loopback", "near")] {
            let error = kernel_interface(&spec(backend, interface)).unwrap_err().to_string();
            assert!(error.starts_with(interface) && error.contains("choose af_packet"), "{error}");
        }
    }
}

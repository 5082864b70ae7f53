//! The published counters of a forwarder; a test of its own process, as the counters are found by pid.
#![allow(clippy::unwrap_used)]

use nodrop_port::loopback;
use nodrop_port::observe::shared_counters;
use nodrop_vnf::{Counters, EdgePort, EdgeSwitch, Forwarder, Pace, Port};

#[test]
fn every_counter_is_published_before_the_first_frame() {
    let (mut ports, mut stations) = (Vec::new(), Vec::new());
    for name in ["trunk", "access"] {
        let [(tx, rx), station] = loopback::pair(64);
        ports.push(Port { name: name.to_owned(), tx, rx, counters: Counters::default(), policer: None });
        stations.push(station);
    }
    let switch = EdgeSwitch::new(vec![EdgePort::Trunk, EdgePort::Access { trunk: 0, vlan: Some(7), mac: None }]);
    let _forwarder = Forwarder::new(ports, switch.unwrap(), 1522, Pace::EDGE).unwrap();
    let published = shared_counters::read(std::process::id());
    for name in ["trunk/received", "access/received", "access/receive_dropped"] {
        assert!(published.contains(&(name.to_owned(), 0)), "{name}: {published:?}");
    }
}

//! Two testers on one in-memory wire: each replies to the other's requests.

use std::net::IpAddr;

use nodrop_model::{Layer, Query, Station, Vlan};
use nodrop_port::loopback::{self, LoopbackRx, LoopbackTx};

use super::*;

type LoopbackPort = StationPort<LoopbackTx, LoopbackRx>;

fn vlan(id: u16) -> Layer {
    Layer::Vlan(Vlan { id, pcp: 0, dei: false })
}

fn station(number: u8, addresses: &[&str], tags: &[Layer]) -> Station {
    let addresses = addresses.iter().map(ToString::to_string).collect();
    Station { mac: format!("02:6e:64:00:00:{number:02x}"), addresses, tags: tags.to_vec() }
}

fn station_port(port: usize, stations: &[Station], (tx, rx): (LoopbackTx, LoopbackRx)) -> LoopbackPort {
    StationPort { port, name: format!("port{port}"), stations: stations.to_vec(), tx, receivers: vec![rx] }
}

/// Start the stations of two connected ports of one tester.
fn connected(near: &[Station], far: &[Station], announce_every_s: Option<f64>) -> Neighbors<LoopbackTx> {
    let [one, other] = loopback::pair(64);
    Neighbors::start(vec![station_port(0, near, one), station_port(1, far, other)], announce_every_s).unwrap()
}

fn request(queries: &[(usize, usize, &str)], timeout_s: f64, tries: u32) -> ResolveRequest {
    let query = |&(port, station, address): &(usize, usize, &str)| Query {
        port,
        station,
        address: address.parse::<IpAddr>().unwrap(),
    };
    ResolveRequest { queries: queries.iter().map(query).collect(), timeout_s, tries }
}

#[test]
fn both_ways_and_both_versions_are_resolved_at_once() {
    let near = [station(0, &["198.18.0.1", "2001:2::1"], &[])];
    let far = [station(1, &["198.19.0.0/24", "198.19.0.1", "2001:2:0:8000::1"], &[])];
    let neighbors = connected(&near, &far, None);
    let request = request(&[(0, 0, "198.19.0.77"), (0, 0, "2001:2:0:8000::1"), (1, 0, "198.18.0.1")], 5.0, 3);
    let macs: Vec<String> = neighbors.resolve(&request).unwrap().answers.into_iter().map(|answer| answer.mac).collect();
    assert_eq!(macs, ["02:6e:64:00:00:01", "02:6e:64:00:00:01", "02:6e:64:00:00:00"]);
    let counts = neighbors.take_counts();
    assert!(counts[0].received_count >= 3 && counts[1].answered_count >= 2, "{counts:?}");
    assert_eq!((counts[0].announced_count, counts[1].port), (0, 1));
}

#[test]
fn a_vlan_is_a_link_of_its_own() {
    let near = [station(0, &["198.18.0.1"], &[vlan(7)]), station(2, &["198.18.0.1"], &[vlan(8)])];
    let far = [station(1, &["198.19.0.1"], &[vlan(7)]), station(3, &["198.19.0.1"], &[vlan(8)])];
    let neighbors = connected(&near, &far, None);
    let request = request(&[(0, 0, "198.19.0.1"), (0, 1, "198.19.0.1")], 5.0, 3);
    let macs: Vec<String> = neighbors.resolve(&request).unwrap().answers.into_iter().map(|answer| answer.mac).collect();
    assert_eq!(macs, ["02:6e:64:00:00:01", "02:6e:64:00:00:03"]);
}

#[test]
fn a_silent_neighbor_is_named_with_requests_and_replies() {
    let near = [station(0, &["198.18.0.1"], &[vlan(7)])];
    let far = [station(1, &["198.19.0.1"], &[])];
    let neighbors = connected(&near, &far, Some(0.005));
    let error = neighbors.resolve(&request(&[(0, 0, "198.19.0.1")], 0.02, 2)).unwrap_err();
    assert!(matches!(error, EngineError::Neighbor(_)));
    let text = error.to_string();
    for part in ["port0: no reply to 2 requests for 198.19.0.1", "ARP from 198.18.0.1", "VLAN 7", "in 0.04 s"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("received instead: 198.19.0.1 (02:6e:64:00:00:01) requests 198.19.0.1"), "{text}");
}

#[test]
fn of_many_that_do_not_answer_the_first_are_named_and_the_others_counted() {
    let neighbors = connected(&[station(0, &["198.18.0.1"], &[])], &[], None);
    let many: Vec<String> = (1..=6).map(|host| format!("198.19.0.{host}")).collect();
    let queries: Vec<_> = many.iter().map(|address| (0, 0, address.as_str())).collect();
    let text = neighbors.resolve(&request(&queries, 0.01, 1)).unwrap_err().to_string();
    assert!(text.contains("198.19.0.4") && !text.contains("198.19.0.5") && text.ends_with("and 2 more"), "{text}");
}

#[test]
fn single_addresses_are_announced_again_and_again_and_prefixes_are_not() {
    let near = [station(0, &["198.18.0.1", "2001:2::1", "198.18.1.0/24"], &[])];
    let neighbors = connected(&near, &[station(1, &[], &[])], Some(0.005));
    let (mut announced, mut received) = (0, 0);
    let deadline = Instant::now() + Duration::from_secs(20);
    while received < 6 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
        let counts = neighbors.take_counts();
        announced += counts[0].announced_count;
        received += counts[1].received_count;
        assert_eq!(counts[1].answered_count, 0);
    }
    assert!(received >= 6 && announced >= 6 && announced % 2 == 0, "{announced} announced, {received} received");
}

#[test]
fn announcements_missed_are_not_made_up_for() {
    let (due, every) = (Instant::now(), Duration::from_millis(100));
    assert_eq!(next_announcement(due, every, due + Duration::from_millis(30)), due + every);
    let late = due + Duration::from_millis(450);
    assert_eq!(next_announcement(due, every, late), late + every);
}

#[test]
fn what_cannot_be_is_refused_with_its_name() {
    let error = |stations: &[Station], every| {
        let [one, _] = loopback::pair(64);
        Neighbors::start(vec![station_port(0, stations, one)], every).unwrap_err().to_string()
    };
    let station_error = |addresses: &[&str], tags: &[Layer]| error(&[station(0, addresses, tags)], None);
    assert!(station_error(&["198.18.0"], &[]).contains("port0: stations: \"198.18.0\" is not an address"));
    assert!(station_error(&[], &[vlan(4096)]).contains("VLAN id 4096"));
    assert!(station_error(&[], &[vlan(1), vlan(2), vlan(3)]).contains("3 tags"));
    assert!(error(&[], Some(0.0)).contains("announce_every_s: 0"));
    let neighbors = connected(&[station(0, &["198.18.0.1"], &[])], &[], None);
    let resolve_error = |request: &ResolveRequest| neighbors.resolve(request).unwrap_err().to_string();
    assert!(resolve_error(&request(&[(2, 0, "198.18.0.2")], 1.0, 1)).contains("port 2 has no stations"));
    assert!(resolve_error(&request(&[(0, 1, "198.18.0.2")], 1.0, 1)).contains("station 1 of port 0"));
    assert!(resolve_error(&request(&[(0, 0, "2001:2::1")], 1.0, 1)).contains("no address of its IP version"));
    assert!(resolve_error(&request(&[], f64::NAN, 1)).contains("timeout_s"));
    assert!(resolve_error(&request(&[], 1.0, 0)).contains("tries"));
    assert!(neighbors.resolve(&request(&[], 1.0, 1)).unwrap().answers.is_empty());
}

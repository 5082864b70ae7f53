//! Stations on kernel-bypass ports, which they share with the trials.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::atomic::AtomicBool;

use nodrop_cli::setup;
use nodrop_model::{OpenRequest, ResolveRequest, TrialRequest};
use serde_json::{Value, json};

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn open(tags: &Value) -> OpenRequest {
    let port = |number: u8| {
        let station = json!({"mac": format!("02:6e:64:00:00:0{number}"),
            "addresses": [format!("198.1{}.0.1", 8 + number), format!("2001:2:0:{number}::1")], "tags": tags});
        json!({"backend": "loopback", "interface": format!("port{number}"), "queue_slots": 65536, "stations": [station]})
    };
    let stream = |id: u8| {
        json!({"stream_id": id, "tx_port": id, "rx_port": 1 - id, "sizes": [{"frame_bytes": 64}], "layers": [
            {"kind": "ethernet", "src": "02:6e:64:00:00:00", "dst": "02:6e:64:00:00:01"},
            {"kind": "ipv4", "src": "198.18.0.1", "dst": "198.19.0.1"},
            {"kind": "udp", "src_port": 49152, "dst_port": 9}]})
    };
    let streams = [stream(0), stream(1)];
    read(json!({"ports": [port(0), port(1)], "streams": streams, "cores": [], "announce_every_s": 0.01}))
}

#[test]
fn both_ends_find_each_other_before_a_trial_and_announce_themselves_in_it() {
    for tags in [json!([]), json!([{"kind": "qinq", "id": 7}, {"kind": "vlan", "id": 100}])] {
        let (mut engine, neighbors, _) = setup::open(&open(&tags)).unwrap();
        let neighbors = neighbors.unwrap();
        let request: ResolveRequest = read(json!({"questions": [{"port": 0, "address": "198.19.0.1"},
            {"port": 1, "address": "2001:2:0:0::1"}], "timeout_s": 10}));
        let macs: Vec<String> =
            neighbors.resolve(&request).unwrap().answers.into_iter().map(|answer| answer.mac).collect();
        assert_eq!(macs, ["02:6e:64:00:00:01", "02:6e:64:00:00:00"]);
        assert!(engine.check(10.0).unwrap().directions.iter().all(|direction| direction.received_count > 0));
        neighbors.take_counts();
        let trial: TrialRequest =
            read(json!({"trial_id": 1, "loads_pps": [5000, 5000], "duration_s": 0.3, "window_s": 0.05}));
        let reply = engine.trial(&trial, &AtomicBool::new(false), |_| ()).unwrap();
        for stream in &reply.streams {
            assert!(stream.offered_count > 0 && stream.received_count == stream.offered_count);
        }
        let counts = neighbors.take_counts();
        assert!(counts.iter().all(|port| port.announced_count > 0 && port.received_count > 0), "{counts:?}");
    }
}

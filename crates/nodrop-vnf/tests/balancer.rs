//! The load balancer: selection of instances, health checks, and failover.
#![allow(clippy::unwrap_used)]

use nodrop_vnf::{Balancer, Cause, ForwardingDecision, FrameBuffer, HealthCheck, MoveSchedule, Network, Selection};

const CHECK: HealthCheck = HealthCheck { interval_ms: 10, misses_max: 3 };
const FLOWS: u16 = 10_000;
/// Trunk 0, where frames of the forward direction arrive.
const LEFT: usize = 0;
const RIGHT: usize = 1;

/// Return a UDP frame of this flow in the direction from the left.
fn forward(flow: u16) -> FrameBuffer {
    udp([198, 18, 0, 1], [198, 19, 0, 1], flow, 53)
}

/// Return a UDP frame of this flow in the other direction.
fn reverse(flow: u16) -> FrameBuffer {
    udp([198, 19, 0, 1], [198, 18, 0, 1], 53, flow)
}

fn udp(src: [u8; 4], dst: [u8; 4], src_port: u16, dst_port: u16) -> FrameBuffer {
    let mut bytes = vec![0; 12];
    bytes.extend([0x08, 0x00, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0]);
    bytes.extend(src.into_iter().chain(dst));
    bytes.extend(src_port.to_be_bytes().into_iter().chain(dst_port.to_be_bytes()));
    bytes.resize(60, 0);
    FrameBuffer::from_frame(&bytes)
}

/// A balancer before instances that forward or not.
struct Bench {
    balancer: Balancer,
    forwards: Vec<bool>,
    now_ms: u64,
}

impl Bench {
    fn new(forwards: &[bool]) -> Self {
        Self::with(forwards, Selection::Hash, MoveSchedule::default())
    }

    fn with(forwards: &[bool], selection: Selection, schedule: MoveSchedule) -> Self {
        let balancer = Balancer::new(forwards.len(), CHECK, selection, schedule);
        Self { balancer, forwards: forwards.to_vec(), now_ms: 0 }
    }

    /// Let time pass in steps of 1 ms; instances return probes that they receive.
    fn pass(&mut self, time_ms: u64) {
        let mut frame = FrameBuffer::new(1522);
        for _ in 0..time_ms {
            self.now_ms += 1;
            while let Some(port) = self.balancer.originate(&mut frame, self.now_ms) {
                if self.forwards[(port - 2) / 2] {
                    frame.set_addresses([2; 6], [4; 6]);
                    let decision = self.balancer.handle(&mut frame, port ^ 1, self.now_ms);
                    assert_eq!(decision, ForwardingDecision::Consume);
                }
            }
        }
    }

    /// Return the instance of each of the first `count` flows; None if its frame is dropped.
    fn list_instances(&mut self, count: u16) -> Vec<Option<usize>> {
        let mut instance = |flow| match self.balancer.handle(&mut forward(flow), LEFT, self.now_ms) {
            ForwardingDecision::Forward(port) if port >= 2 && port % 2 == LEFT => Some((port - 2) / 2),
            decision => {
                assert_eq!(decision, ForwardingDecision::Drop(Cause::NoInstance));
                None
            }
        };
        (0..count).map(&mut instance).collect()
    }

    /// Return the instance of each flow; none may be dropped.
    fn instances(&mut self) -> Vec<usize> {
        self.list_instances(FLOWS).into_iter().map(Option::unwrap).collect()
    }
}

#[test]
fn flows_are_spread_evenly_and_both_directions_use_the_same_instance() {
    let mut bench = Bench::new(&[true; 4]);
    let instances = bench.instances();
    for instance in 0..4 {
        let count = instances.iter().filter(|each| **each == instance).count();
        assert!((2300..2700).contains(&count), "{count}");
    }
    for (flow, instance) in (0..FLOWS).zip(instances) {
        let decision = bench.balancer.handle(&mut reverse(flow), RIGHT, 0);
        assert_eq!(decision, ForwardingDecision::Forward(2 + 2 * instance + RIGHT));
    }
}

#[test]
fn frames_from_an_instance_leave_through_the_trunk_of_their_side() {
    let mut bench = Bench::new(&[true; 2]);
    for (port, trunk) in [(2, LEFT), (3, RIGHT), (4, LEFT), (5, RIGHT)] {
        assert_eq!(bench.balancer.handle(&mut forward(1), port, 0), ForwardingDecision::Forward(trunk));
    }
}

#[test]
fn only_the_flows_of_a_failed_instance_move_and_they_come_back_with_it() {
    let mut bench = Bench::new(&[true; 3]);
    bench.pass(100);
    let before = bench.instances();
    bench.forwards[1] = false;
    bench.pass(100);
    let after = bench.instances();
    assert!(before.iter().zip(&after).all(|(before, after)| *before == 1 || before == after));
    assert!(after.iter().all(|instance| *instance != 1));
    let moved = |to| before.iter().zip(&after).filter(|(before, after)| **before == 1 && **after == to).count();
    assert!((1500..1850).contains(&moved(0)) && (1500..1850).contains(&moved(2)));
    bench.forwards[1] = true;
    bench.pass(20);
    assert_eq!(bench.instances(), before);
}

#[test]
fn an_instance_is_down_after_as_many_missed_probes_as_configured() {
    let mut bench = Bench::new(&[true; 2]);
    bench.pass(95);
    assert_eq!(bench.balancer.table_sizes(), [("instances_up", 2), ("flows", 0)]);
    bench.forwards[0] = false;
    // The probes of 101, 111 and 121 ms are missed; the next round finds that.
    bench.pass(35);
    assert_eq!(bench.balancer.table_sizes(), [("instances_up", 2), ("flows", 0)]);
    bench.pass(5);
    assert_eq!(bench.balancer.table_sizes(), [("instances_up", 1), ("flows", 0)]);
}

#[test]
fn a_balancer_that_was_off_its_cpu_does_not_take_its_instances_for_failed() {
    let mut bench = Bench::new(&[true; 2]);
    bench.pass(50);
    bench.now_ms += 1000;
    bench.pass(30);
    assert_eq!(bench.balancer.table_sizes(), [("instances_up", 2), ("flows", 0)]);
}

#[test]
fn if_no_instance_is_up_all_are_used() {
    let mut bench = Bench::new(&[true; 2]);
    bench.pass(100);
    let before = bench.instances();
    bench.forwards = vec![false; 2];
    bench.pass(100);
    assert_eq!(bench.balancer.table_sizes(), [("instances_up", 0), ("flows", 0)]);
    assert_eq!(bench.instances(), before);
}

#[test]
fn without_an_instance_in_service_frames_are_dropped_for_that_cause() {
    let mut bench = Bench::new(&[true]);
    bench.balancer.withdrawal().withdraw(0);
    let decision = bench.balancer.handle(&mut forward(1), LEFT, bench.now_ms);
    assert_eq!(decision, ForwardingDecision::Drop(Cause::NoInstance));
}

#[test]
fn on_standby_all_flows_use_the_first_instance_in_service() {
    let mut bench = Bench::with(&[true; 3], Selection::Standby, MoveSchedule::default());
    bench.pass(100);
    assert!(bench.instances().iter().all(|instance| *instance == 0));
    bench.balancer.withdrawal().withdraw(0);
    assert!(bench.instances().iter().all(|instance| *instance == 1));
    bench.forwards[1] = false;
    bench.pass(100);
    assert!(bench.instances().iter().all(|instance| *instance == 2));
    bench.balancer.withdrawal().restore(0);
    assert!(bench.instances().iter().all(|instance| *instance == 0));
}

#[test]
fn flows_move_one_after_another_in_the_order_in_which_they_were_first_seen() {
    let schedule = MoveSchedule { delay_ms: 50, interval_ms: 5 };
    let mut bench = Bench::with(&[true; 2], Selection::Standby, schedule);
    assert_eq!(bench.list_instances(20), [Some(0); 20]);
    bench.balancer.withdrawal().withdraw(0);
    for time_ms in 0..150 {
        let moved = if time_ms < 50 { 0 } else { (time_ms - 50) / 5 + 1 };
        let expected: Vec<Option<usize>> = (0..20).map(|flow| (flow < moved).then_some(1)).collect();
        assert_eq!(bench.list_instances(20), expected, "{time_ms} ms");
        bench.pass(1);
    }
    // On the way back, the flows leave an instance that forwards: none is lost.
    bench.balancer.withdrawal().restore(0);
    for time_ms in 0..150 {
        let moved = if time_ms < 50 { 0 } else { (time_ms - 50) / 5 + 1 };
        let expected: Vec<Option<usize>> = (0..20).map(|flow| Some(usize::from(flow >= moved))).collect();
        assert_eq!(bench.list_instances(20), expected, "{time_ms} ms");
        bench.pass(1);
    }
}

#[test]
fn flows_of_an_instance_that_comes_back_in_time_do_not_move() {
    let schedule = MoveSchedule { delay_ms: 50, interval_ms: 0 };
    let mut bench = Bench::with(&[true; 2], Selection::Standby, schedule);
    assert_eq!(bench.list_instances(3), [Some(0); 3]);
    bench.balancer.withdrawal().withdraw(0);
    assert_eq!(bench.list_instances(3), [None; 3]);
    bench.pass(30);
    bench.balancer.withdrawal().restore(0);
    assert_eq!(bench.list_instances(3), [Some(0); 3]);
    bench.pass(100);
    assert_eq!(bench.list_instances(3), [Some(0); 3]);
}

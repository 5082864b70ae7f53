//! A load balancer between two trunks and a pool of instances of a VNF.
//!
//! Under [`Selection::Hash`] the flow of a frame selects its instance by rendezvous hashing: if an instance fails, only
//! its flows move, and if one is added, only flows that move to it. Both directions of a flow use the same instance.
//! Probes through each instance find out which ones forward; a [`Withdrawal`] takes one out of service.
//!
//! With a [`MoveSchedule`], flows move one after another, as a control plane updates one route after another.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::flows::{mix, symmetric_key};
use crate::{Cause, ForwardingDecision, FrameBuffer, Network};

/// Number of trunks, before the two ports of each instance.
const TRUNKS: usize = 2;
/// EtherType of the probes: Local Experimental 1 (IEEE 802 section 9.2.4).
const PROBE_TYPE: [u8; 2] = [0x88, 0xb5];
const PROBE_MAGIC: [u8; 4] = *b"nDrP";
/// Length of a probe: the minimum of Ethernet, without FCS.
const PROBE_BYTES: usize = 60;
const TYPE_AT: usize = 12;
/// Maximum number of flows whose moves are scheduled; further flows move at once.
const FLOWS_MAX: usize = 1 << 16;

/// Supervision of the instances.
#[derive(Clone, Copy, Debug)]
pub struct HealthCheck {
    /// Time between two probes of an instance.
    pub interval_ms: u64,
    /// Probes in a row without an answer after which an instance is down. Unlike a time limit, this tolerates a balancer
    /// that was off its CPU.
    pub misses_max: u32,
}

/// Selection of the instance of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// By a hash of its addresses and ports, among all instances in service.
    Hash,
    /// The first instance in service; the others are on standby.
    Standby,
}

/// Time at which flows move after an instance has failed, was withdrawn, or came back.
#[derive(Clone, Copy, Debug, Default)]
pub struct MoveSchedule {
    /// Time until the first flow moves.
    pub delay_ms: u64,
    /// Time between two flows, which move in the order in which they were first seen.
    pub interval_ms: u64,
}

impl MoveSchedule {
    fn is_immediate(self) -> bool {
        self.delay_ms == 0 && self.interval_ms == 0
    }
}

/// Instances that are out of service by administration, up to 64; shared with a control thread.
#[derive(Clone, Debug, Default)]
pub struct Withdrawal(Arc<AtomicU64>);

impl Withdrawal {
    /// Number of instances that can be withdrawn.
    pub const INSTANCES_MAX: usize = u64::BITS as usize;

    /// Take an instance out of service: frames of its flows are dropped until they move.
    pub fn withdraw(&self, instance: usize) {
        self.0.fetch_or(1 << instance, Relaxed);
    }

    /// Put an instance back into service.
    pub fn restore(&self, instance: usize) {
        self.0.fetch_and(!(1 << instance), Relaxed);
    }

    fn includes(&self, instance: usize) -> bool {
        self.0.load(Relaxed) >> instance & 1 == 1
    }
}

/// An instance of the VNF.
#[derive(Clone, Copy, Debug)]
struct Instance {
    /// Probes sent since the last one that came back.
    missed: u32,
    is_up: bool,
}

/// A flow whose moves are scheduled.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// The instance that it uses; None: none was in service when it was first seen.
    instance: Option<usize>,
    /// When it moves to the instance that is selected for it then.
    moves_at_ms: Option<u64>,
    /// Its position in the order in which flows were first seen.
    position: usize,
}

/// A load balancer. Ports 0 and 1 are the trunks; instance `n` has the ports `2 + 2 * n` and `3 + 2 * n`, on the sides of
/// trunk 0 and 1.
#[derive(Clone, Debug)]
pub struct Balancer {
    instances: Vec<Instance>,
    check: HealthCheck,
    selection: Selection,
    schedule: MoveSchedule,
    withdrawal: Withdrawal,
    /// Instances in service at the last frame, a bit each.
    in_service: u64,
    flows: HashMap<u64, Flow>,
    /// Time of the next round of probes.
    due_ms: u64,
    /// Instance to probe next in this round.
    next: usize,
}

impl Balancer {
    /// Create a balancer for this number of instances, at most [`Withdrawal::INSTANCES_MAX`]; all are up until probes are
    /// missed.
    #[must_use]
    pub fn new(instance_count: usize, check: HealthCheck, selection: Selection, schedule: MoveSchedule) -> Self {
        let mut balancer = Self {
            instances: vec![Instance { missed: 0, is_up: true }; instance_count],
            check,
            selection,
            schedule,
            withdrawal: Withdrawal::default(),
            in_service: 0,
            flows: HashMap::new(),
            due_ms: 0,
            next: instance_count,
        };
        balancer.in_service = balancer.list_in_service();
        balancer
    }

    /// Return a handle to take instances out of service.
    #[must_use]
    pub fn withdrawal(&self) -> Withdrawal {
        self.withdrawal.clone()
    }

    /// Return the instances in service, a bit each: those that are up, or all if none is, as the balancer is then more
    /// likely to be wrong about all of them; without those withdrawn.
    fn list_in_service(&self) -> u64 {
        let admitted = |is_candidate: fn(&Instance) -> bool| {
            let candidates = self.instances.iter().enumerate().filter(|(_, instance)| is_candidate(instance));
            let admitted = candidates.filter(|(index, _)| !self.withdrawal.includes(*index));
            admitted.fold(0, |bits, (index, _)| bits | 1 << index)
        };
        match admitted(|instance| instance.is_up) {
            0 => admitted(|_| true),
            up => up,
        }
    }

    /// Return the instance that a flow with this key is to use.
    #[inline]
    fn select(&self, key: u64) -> Option<usize> {
        let mut candidates = (0..self.instances.len()).filter(|index| self.in_service >> index & 1 == 1);
        match self.selection {
            Selection::Hash => candidates.max_by_key(|index| mix(key ^ mix(*index as u64 + 1))),
            Selection::Standby => candidates.next(),
        }
    }

    /// Return the instance that a flow with this key uses now.
    #[inline]
    fn find_instance(&mut self, key: u64, now_ms: u64) -> Option<usize> {
        if self.schedule.is_immediate() {
            return self.select(key);
        }
        let selected = self.select(key);
        let (position, is_full) = (self.flows.len(), self.flows.len() >= FLOWS_MAX);
        if is_full && !self.flows.contains_key(&key) {
            return selected;
        }
        let flow = self.flows.entry(key).or_insert(Flow { instance: selected, moves_at_ms: None, position });
        if flow.moves_at_ms.is_some_and(|time_ms| time_ms <= now_ms) {
            (flow.instance, flow.moves_at_ms) = (selected, None);
        }
        flow.instance
    }

    /// Find out which instances are in service, and schedule the moves of flows if others were before.
    fn update_service(&mut self, now_ms: u64) {
        let in_service = self.list_in_service();
        if in_service == self.in_service {
            return;
        }
        self.in_service = in_service;
        let mut flows: Vec<(usize, u64)> = self.flows.iter().map(|(key, flow)| (flow.position, *key)).collect();
        flows.sort_unstable();
        let mut time_ms = now_ms + self.schedule.delay_ms;
        for (_, key) in flows {
            let selected = self.select(key);
            let Some(flow) = self.flows.get_mut(&key) else { continue };
            if flow.instance == selected {
                flow.moves_at_ms = None;
            } else if flow.moves_at_ms.is_none() {
                flow.moves_at_ms = Some(time_ms);
                time_ms += self.schedule.interval_ms;
            }
        }
    }

    fn handle_from_instance(&mut self, frame: &FrameBuffer, from: usize) -> ForwardingDecision {
        let (index, side) = ((from - TRUNKS) / 2, (from - TRUNKS) % 2);
        if frame.read(TYPE_AT) == Some(PROBE_TYPE) && frame.read(TYPE_AT + 2) == Some(PROBE_MAGIC) {
            self.instances[index] = Instance { missed: 0, is_up: true };
            return ForwardingDecision::Consume;
        }
        ForwardingDecision::Forward(side)
    }

    /// Begin a round of probes: mark the instances down that have missed too many.
    fn begin_round(&mut self, now_ms: u64) {
        for instance in &mut self.instances {
            instance.is_up &= instance.missed < self.check.misses_max;
        }
        self.update_service(now_ms);
        (self.next, self.due_ms) = (0, now_ms + self.check.interval_ms);
    }
}

impl Network for Balancer {
    #[inline]
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, now_ms: u64) -> ForwardingDecision {
        if frame.bytes().len() <= TYPE_AT + 2 {
            return ForwardingDecision::Drop(Cause::Malformed);
        }
        if from >= TRUNKS {
            return self.handle_from_instance(frame, from);
        }
        self.update_service(now_ms);
        match self.find_instance(symmetric_key(frame), now_ms) {
            Some(index) if !self.withdrawal.includes(index) => ForwardingDecision::Forward(TRUNKS + 2 * index + from),
            _ => ForwardingDecision::Drop(Cause::NoInstance),
        }
    }

    fn due_ms(&self) -> Option<u64> {
        Some(self.due_ms)
    }

    fn originate(&mut self, frame: &mut FrameBuffer, now_ms: u64) -> Option<usize> {
        if self.next == self.instances.len() {
            if now_ms < self.due_ms {
                return None;
            }
            self.begin_round(now_ms);
        }
        let index = self.next;
        self.next += 1;
        self.instances[index].missed = self.instances[index].missed.saturating_add(1);
        let mut probe = [0; PROBE_BYTES];
        probe[..6].fill(0xff);
        probe[6] = 2; // a locally administered source address
        probe[TYPE_AT..TYPE_AT + 2].copy_from_slice(&PROBE_TYPE);
        probe[TYPE_AT + 2..TYPE_AT + 6].copy_from_slice(&PROBE_MAGIC);
        frame.load(&probe);
        Some(TRUNKS + 2 * index)
    }

    fn table_sizes(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("instances_up", self.instances.iter().filter(|instance| instance.is_up).count() as u64),
            ("flows", self.flows.len() as u64),
        ]
    }
}

//! The host's counters along a path: interfaces, queues, sockets, drops. Read from outside, without touching a frame.
//!
//! A snapshot is flat: a hierarchical name such as `sut/sut0/rx_packets`, and a number that only grows. The change in a
//! period is the difference of two snapshots; absent counters are zero or unknown to the host.

mod btf;
pub mod cpu_time;
mod drops;
mod ethtool;
#[cfg(fuzzing)]
pub mod fuzzing;
mod namespace;
pub(crate) mod netlink;
mod proc;
pub mod shared_counters;

use std::collections::BTreeMap;

pub use ethtool::{Timestamping, timestamping};
pub use namespace::Namespace;
pub use proc::{ReceiveBacklog, read_receive_backlogs};

use crate::PortError;
use drops::DropCounter;

/// Whether to count the kernel's reasons for dropped frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCounting {
    /// Not counted; no program is attached to the kernel.
    Off,
    /// Counted, except for frames for other stations.
    On,
    /// All counted, including every frame that a packet socket receives, which slows receivers down.
    WithOtherHost,
}

/// Counters by name.
pub type Counters = BTreeMap<String, u64>;

/// Sources of counters: network namespaces, the host as a whole, and processes that publish counters.
#[derive(Debug)]
pub struct Observer {
    namespaces: Vec<Namespace>,
    processes: Vec<(String, u32)>,
    drops: Option<Result<DropCounter, PortError>>,
}

impl Observer {
    /// Observe network namespaces and the [`shared_counters`] of processes, each by a name chosen by the caller and a
    /// pid. Must be called before any thread is started; leaves the calling process in the last namespace.
    ///
    /// # Errors
    /// If a process has exited or its namespaces may not be entered.
    pub fn open(
        namespaces: &[(String, u32)],
        processes: Vec<(String, u32)>,
        counting: DropCounting,
    ) -> Result<Self, PortError> {
        // Opened before a user namespace is entered, where it would be forbidden.
        let drops = match counting {
            DropCounting::Off => None,
            DropCounting::On => Some(DropCounter::open(false)),
            DropCounting::WithOtherHost => Some(DropCounter::open(true)),
        };
        let namespaces = namespaces.iter().map(|(name, pid)| Namespace::open(name, *pid)).collect::<Result<_, _>>()?;
        Ok(Self { namespaces, processes, drops })
    }

    /// Return the error that prevents counting of drop reasons; None if they are counted or were not requested.
    #[must_use]
    pub fn drop_counting_error(&self) -> Option<&PortError> {
        self.drops.as_ref().and_then(|drops| drops.as_ref().err())
    }

    /// Read all counters now; unreadable ones are omitted.
    ///
    /// Processes are read before interfaces: a frame that moves on meanwhile then shows as one that its process has
    /// not counted yet, never as one that left a process before it entered.
    #[must_use]
    pub fn read(&self) -> Counters {
        let mut counters = Counters::new();
        for (name, pid) in &self.processes {
            counters.extend(
                shared_counters::read(*pid).into_iter().map(|(label, count)| (format!("{name}/{label}"), count)),
            );
        }
        let counter = self.drops.as_ref().and_then(|drops| drops.as_ref().ok());
        let drops = counter.map(DropCounter::read).unwrap_or_default();
        for namespace in &self.namespaces {
            namespace.read(&drops, &mut counters);
        }
        proc::read_softnet(&mut counters);
        counters
    }
}

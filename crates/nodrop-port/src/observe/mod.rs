//! What the host counts along a path: interfaces, queues, sockets, drops. Read from outside, without touching a frame.
//!
//! A [`Reading`] is flat: a name that says where, `sut/sut0/rx_packets`, and a number that only grows. What happened in between
//! two moments is the difference of two readings; what is not in a reading is zero or not known to the host.

pub mod board;
mod btf;
mod drops;
mod ethtool;
#[cfg(fuzzing)]
pub mod fuzzing;
mod namespace;
pub(crate) mod netlink;
mod proc;

use std::collections::BTreeMap;

pub use ethtool::{Timestamping, timestamping};
pub use namespace::Namespace;

use crate::PortError;
use drops::DropCounter;

/// Whether the kernel's reasons for dropped frames are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drops {
    /// No; nothing is attached to the kernel.
    Ignored,
    /// Yes, but for frames that were for another station.
    Counted,
    /// Yes, all. Every frame that a packet socket receives counts among them, which slows receivers down.
    CountedWithOtherHost,
}

/// Counters by name.
pub type Reading = BTreeMap<String, u64>;

/// Everything that is read: network namespaces, the host as a whole, and processes that publish counters of their own.
#[derive(Debug)]
pub struct Observer {
    namespaces: Vec<Namespace>,
    processes: Vec<(String, u32)>,
    drops: Option<Result<DropCounter, PortError>>,
}

impl Observer {
    /// Watch network namespaces and the [`board`]s of processes, each by a name of the caller's and a pid. Must be called
    /// before any thread is started; leaves the calling process in the last namespace.
    ///
    /// # Errors
    /// When a process is gone or its namespaces may not be entered.
    pub fn open(namespaces: &[(String, u32)], processes: Vec<(String, u32)>, wanted: Drops) -> Result<Self, PortError> {
        // Before a user namespace is entered, in which it would be forbidden.
        let drops = match wanted {
            Drops::Ignored => None,
            Drops::Counted => Some(DropCounter::open(false)),
            Drops::CountedWithOtherHost => Some(DropCounter::open(true)),
        };
        let namespaces = namespaces.iter().map(|(name, pid)| Namespace::open(name, *pid)).collect::<Result<_, _>>()?;
        Ok(Self { namespaces, processes, drops })
    }

    /// Why the kernel's reasons for drops are not counted; None when they are, or were not wanted.
    #[must_use]
    pub fn drops_refusal(&self) -> Option<&PortError> {
        self.drops.as_ref().and_then(|drops| drops.as_ref().err())
    }

    /// Read everything now. What cannot be read is left out.
    #[must_use]
    pub fn read(&self) -> Reading {
        let mut reading = Reading::new();
        let counter = self.drops.as_ref().and_then(|drops| drops.as_ref().ok());
        let drops = counter.map(DropCounter::read).unwrap_or_default();
        for namespace in &self.namespaces {
            namespace.read(&drops, &mut reading);
        }
        proc::read_softnet(&mut reading);
        for (name, pid) in &self.processes {
            reading.extend(board::read(*pid).into_iter().map(|(label, count)| (format!("{name}/{label}"), count)));
        }
        reading
    }
}

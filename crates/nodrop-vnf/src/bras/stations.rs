//! MAC addresses of the subscribers, learned from ARP.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use nodrop_wire::MacAddr;
use rustc_hash::FxBuildHasher;

/// Most entries: several addresses for each subscriber. Packets beyond teach nothing, so that no subscriber can use up
/// the memory.
const ENTRIES_MAX: usize = 4 << 16;

/// MAC addresses by GRE key and IP address.
#[derive(Clone, Debug)]
pub(super) struct StationTable {
    entries: HashMap<(u32, Ipv4Addr), Station, FxBuildHasher>,
    timeout_ms: u64,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    mac: MacAddr,
    learned_ms: u64,
}

/// Result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    Known(MacAddr),
    Expired,
    Missing,
}

impl StationTable {
    /// Create an empty table whose entries expire after `timeout`.
    pub(super) fn new(timeout: Duration) -> Self {
        Self { entries: HashMap::default(), timeout_ms: timeout.as_millis() as u64 }
    }

    /// Learn a MAC address, or confirm it.
    pub(super) fn learn(&mut self, key: u32, address: Ipv4Addr, mac: MacAddr, now_ms: u64) {
        let station = Station { mac, learned_ms: now_ms };
        if let Some(entry) = self.entries.get_mut(&(key, address)) {
            *entry = station;
        } else if self.entries.len() < ENTRIES_MAX {
            self.entries.insert((key, address), station);
        }
    }

    /// Look up the MAC address of a subscriber's IP address.
    #[inline]
    pub(super) fn find(&self, key: u32, address: Ipv4Addr, now_ms: u64) -> Lookup {
        match self.entries.get(&(key, address)) {
            None => Lookup::Missing,
            Some(station) if now_ms.saturating_sub(station.learned_ms) > self.timeout_ms => Lookup::Expired,
            Some(station) => Lookup::Known(station.mac),
        }
    }

    /// Return the number of entries, with the expired ones.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 1);

    #[test]
    fn an_entry_expires_unless_it_is_confirmed() {
        let mut table = StationTable::new(Duration::from_secs(1500));
        assert_eq!(table.find(7, ADDRESS, 0), Lookup::Missing);
        table.learn(7, ADDRESS, MAC, 0);
        assert_eq!(table.find(7, ADDRESS, 1_499_000), Lookup::Known(MAC));
        assert_eq!(table.find(7, ADDRESS, 1_501_000), Lookup::Expired);
        assert_eq!(table.find(8, ADDRESS, 0), Lookup::Missing);
        table.learn(7, ADDRESS, MAC, 1_501_000);
        assert_eq!(table.find(7, ADDRESS, 3_000_000), Lookup::Known(MAC));
    }

    #[test]
    fn one_subscriber_cannot_use_up_the_memory() {
        let mut table = StationTable::new(Duration::from_secs(1500));
        for address in 0..ENTRIES_MAX as u32 + 10 {
            table.learn(7, address.into(), MAC, 0);
        }
        assert_eq!(table.len(), ENTRIES_MAX);
        table.learn(7, Ipv4Addr::from(5), MacAddr([6; 6]), 9);
        assert_eq!(table.find(7, Ipv4Addr::from(5), 9), Lookup::Known(MacAddr([6; 6])), "no longer updated");
    }
}

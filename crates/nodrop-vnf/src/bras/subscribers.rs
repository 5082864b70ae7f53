//! Subscribers: their VLAN tags, the keys of their tunnels, and their MAC addresses, learned from ARP.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use nodrop_wire::MacAddr;
use rustc_hash::FxBuildHasher;

/// Bits of a tag that contain the VLAN id.
const VLAN_BITS: u32 = 12;
const VLAN_MASK: u16 = 0x0fff;
const PORT_SHIFT: u32 = 16;
/// Most further addresses of all subscribers. Packets beyond teach nothing, so that no subscriber can use up the memory.
const MORE_MAX: usize = 3 << 16;

/// VLAN tags of a subscriber, and the port that leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) s_tag: u16,
    pub(super) c_tag: u16,
    pub(super) port: u16,
}

/// MAC address of an IP address.
#[derive(Clone, Copy, Debug)]
struct Station {
    mac: MacAddr,
    learned_s: u32,
}

/// A subscriber: all that a downstream packet needs, so that it accesses one line of memory.
#[derive(Clone, Copy, Debug)]
struct Subscriber {
    line: Line,
    /// Its first address and station; unspecified before the first ARP packet.
    address: Ipv4Addr,
    station: Station,
}

/// Result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    Known(MacAddr),
    Expired,
    Missing,
}

/// All subscribers, by tags and by key.
#[derive(Clone, Debug)]
pub(super) struct SubscriberTable {
    /// Key and port, by both VLAN ids.
    keys: Arc<HashMap<u32, u32, FxBuildHasher>>,
    subscribers: Vec<Subscriber>,
    /// Further addresses of subscribers.
    more: HashMap<(u32, Ipv4Addr), Station, FxBuildHasher>,
    learned_count: usize,
    timeout_s: u32,
}

impl SubscriberTable {
    /// Create a table of these lines, ordered by key, at most 65,536; MAC addresses expire after `timeout`.
    pub(super) fn new(lines: &[Line], timeout: Duration) -> Self {
        let entry =
            |(key, line): (u32, &Line)| (tags(line.s_tag, line.c_tag), u32::from(line.port) << PORT_SHIFT | key);
        let keys: HashMap<_, _, _> = (0..).zip(lines).map(entry).collect();
        let station = Station { mac: MacAddr([0; 6]), learned_s: 0 };
        let blank = |line: &Line| Subscriber { line: *line, address: Ipv4Addr::UNSPECIFIED, station };
        Self {
            keys: Arc::new(keys),
            subscribers: lines.iter().map(blank).collect(),
            more: HashMap::default(),
            learned_count: 0,
            timeout_s: timeout.as_secs() as u32,
        }
    }

    /// Return the key of the subscriber with these tags at this port; priority bits do not matter.
    #[inline]
    pub(super) fn key(&self, s_tag: u16, c_tag: u16, port: usize) -> Option<u32> {
        let entry = *self.keys.get(&tags(s_tag, c_tag))?;
        (entry >> PORT_SHIFT == port as u32).then_some(entry & 0xffff)
    }

    /// Return the line of the subscriber with this key.
    #[inline]
    pub(super) fn line(&self, key: u32) -> Option<Line> {
        self.subscribers.get(key as usize).map(|subscriber| subscriber.line)
    }

    /// Learn a MAC address of a subscriber, or confirm it. The address must not be unspecified.
    pub(super) fn learn(&mut self, key: u32, address: Ipv4Addr, mac: MacAddr, now_ms: u64) {
        let station = Station { mac, learned_s: seconds(now_ms) };
        let subscriber = &mut self.subscribers[key as usize];
        if subscriber.address == address {
            subscriber.station = station;
        } else if subscriber.address.is_unspecified() {
            (subscriber.address, subscriber.station) = (address, station);
            self.learned_count += 1;
        } else if self.more.len() < MORE_MAX || self.more.contains_key(&(key, address)) {
            self.more.insert((key, address), station);
        }
    }

    /// Look up the MAC address of an IP address of the subscriber with this key, which must exist.
    #[inline]
    pub(super) fn find(&self, key: u32, address: Ipv4Addr, now_ms: u64) -> Lookup {
        let subscriber = &self.subscribers[key as usize];
        let station = if subscriber.address == address && !address.is_unspecified() {
            subscriber.station
        } else {
            match self.more.get(&(key, address)) {
                Some(station) => *station,
                None => return Lookup::Missing,
            }
        };
        if seconds(now_ms).saturating_sub(station.learned_s) > self.timeout_s {
            return Lookup::Expired;
        }
        Lookup::Known(station.mac)
    }

    /// Return the number of learned addresses, with the expired ones.
    pub(super) fn address_count(&self) -> usize {
        self.learned_count + self.more.len()
    }
}

/// Return both VLAN ids as one number.
#[inline]
fn tags(s_tag: u16, c_tag: u16) -> u32 {
    u32::from(s_tag & VLAN_MASK) << VLAN_BITS | u32::from(c_tag & VLAN_MASK)
}

fn seconds(now_ms: u64) -> u32 {
    (now_ms / 1000) as u32
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashSet;

    use super::super::{BrasProfile, SUBSCRIBERS_MAX, TagPlan};
    use super::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 1);
    const TIMEOUT: Duration = Duration::from_secs(1500);

    fn table(profile: &BrasProfile, ports: &[usize]) -> SubscriberTable {
        SubscriberTable::new(&profile.lines(ports), TIMEOUT)
    }

    #[test]
    fn every_pair_of_tags_maps_to_its_key_and_back() {
        for tag_plan in [TagPlan::Prox, TagPlan::Shifted, TagPlan::Shuffled(7)] {
            let table = table(&BrasProfile { tag_plan, ..BrasProfile::default() }, &[3, 5]);
            let tags: HashSet<(u16, u16)> = (0..SUBSCRIBERS_MAX)
                .map(|key| {
                    let Line { s_tag, c_tag, port } = table.line(key).unwrap();
                    assert_eq!(table.key(s_tag, c_tag, port.into()), Some(key));
                    assert_eq!(table.key(s_tag, c_tag, usize::from(8 - port)), None);
                    (s_tag, c_tag)
                })
                .collect();
            assert_eq!(tags.len(), 65_536);
            assert_eq!(table.line(SUBSCRIBERS_MAX), None);
            assert_eq!(table.keys.len(), 65_536);
        }
    }

    #[test]
    fn priority_and_drop_eligibility_do_not_matter() {
        assert_eq!(table(&BrasProfile::default(), &[0]).key(0xf001, 0x7001, 0), Some(257));
    }

    #[test]
    fn an_address_expires_unless_it_is_confirmed() {
        let mut table = table(&BrasProfile::default(), &[0]);
        // The first address of a subscriber, and another one.
        for address in [ADDRESS, Ipv4Addr::new(192, 168, 1, 2)] {
            assert_eq!(table.find(7, address, 0), Lookup::Missing);
            table.learn(7, address, MAC, 0);
            assert_eq!(table.find(7, address, 1_499_000), Lookup::Known(MAC));
            assert_eq!(table.find(7, address, 1_501_000), Lookup::Expired);
            assert_eq!(table.find(8, address, 0), Lookup::Missing);
            table.learn(7, address, MAC, 1_501_000);
            assert_eq!(table.find(7, address, 3_000_000), Lookup::Known(MAC));
        }
        assert_eq!(table.address_count(), 2);
        assert_eq!(table.find(8, Ipv4Addr::UNSPECIFIED, 0), Lookup::Missing);
    }

    #[test]
    fn one_subscriber_cannot_use_up_the_memory() {
        let mut table = table(&BrasProfile { subscriber_count: 8, ..BrasProfile::default() }, &[0]);
        for address in 1..=MORE_MAX as u32 + 10 {
            table.learn(7, address.into(), MAC, 0);
        }
        assert_eq!(table.address_count(), MORE_MAX + 1);
        for address in [1, 5] {
            table.learn(7, Ipv4Addr::from(address), MacAddr([6; 6]), 9);
            assert_eq!(table.find(7, Ipv4Addr::from(address), 9), Lookup::Known(MacAddr([6; 6])), "no longer updated");
        }
    }
}

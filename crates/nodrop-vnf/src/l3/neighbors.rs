//! Next hops and their MAC addresses.

use std::net::IpAddr;

use nodrop_wire::MacAddr;

/// Shortest time between two questions for the same next hop. Source: RFC 4861 section 10, RETRANS_TIMER; RFC 1122
/// section 2.3.2.1 for ARP.
const ASK_INTERVAL_MS: u64 = 1000;

/// Every next hop of the router. There are as many as the routes name, and no frame can add one.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbors(Vec<Entry>);

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: IpAddr,
    port: usize,
    mac: Option<MacAddr>,
    asked_ms: Option<u64>,
}

/// What is known of a next hop.
pub(super) enum Next {
    /// Behind this port, with this MAC address.
    Known(usize, MacAddr),
    /// To be asked for by this port now.
    Ask(usize, IpAddr),
    /// Asked for not long ago.
    AskedLately,
}

impl Neighbors {
    /// The position of a next hop, new or not.
    pub(super) fn place(&mut self, address: IpAddr, port: usize) -> usize {
        self.0.iter().position(|entry| entry.address == address && entry.port == port).unwrap_or_else(|| {
            self.0.push(Entry { address, port, mac: None, asked_ms: None });
            self.0.len() - 1
        })
    }

    /// A station said, or it was set, that `address` has this MAC address.
    pub(super) fn learn(&mut self, address: IpAddr, mac: MacAddr) {
        for entry in self.0.iter_mut().filter(|entry| entry.address == address) {
            entry.mac = Some(mac);
        }
    }

    /// What to do with a packet for the next hop at `position`.
    #[inline]
    pub(super) fn next(&mut self, position: usize, now_ms: u64) -> Next {
        let entry = &mut self.0[position];
        if let Some(mac) = entry.mac {
            return Next::Known(entry.port, mac);
        }
        if entry.asked_ms.is_some_and(|asked_ms| now_ms < asked_ms + ASK_INTERVAL_MS) {
            return Next::AskedLately;
        }
        entry.asked_ms = Some(now_ms);
        Next::Ask(entry.port, entry.address)
    }
}

//! Next hops of the router and their MAC addresses.

use std::net::IpAddr;

use nodrop_wire::MacAddr;

/// Shortest time between two requests for the same next hop. Source: RFC 4861 section 10, RETRANS_TIMER; RFC 1122
/// section 2.3.2.1 for ARP.
const REQUEST_INTERVAL_MS: u64 = 1000;

/// Next hops of the router. Their number is fixed by the routes; no frame can add one.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbors(Vec<Entry>);

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: IpAddr,
    port: usize,
    mac: Option<MacAddr>,
    requested_ms: Option<u64>,
}

/// State of a next hop.
pub(super) enum NextHop {
    /// Reachable through this port with this MAC address.
    Resolved(usize, MacAddr),
    /// To be resolved now, through this port.
    Unresolved(usize, IpAddr),
    /// Requested recently.
    Pending,
}

impl Neighbors {
    /// Return the index of a next hop; add it if it is new.
    pub(super) fn index_of(&mut self, address: IpAddr, port: usize) -> usize {
        self.0.iter().position(|entry| entry.address == address && entry.port == port).unwrap_or_else(|| {
            self.0.push(Entry { address, port, mac: None, requested_ms: None });
            self.0.len() - 1
        })
    }

    /// Store the MAC address of `address`.
    pub(super) fn learn(&mut self, address: IpAddr, mac: MacAddr) {
        for entry in self.0.iter_mut().filter(|entry| entry.address == address) {
            entry.mac = Some(mac);
        }
    }

    /// Return the state of the next hop at `position`, for a packet to send now.
    #[inline]
    pub(super) fn next(&mut self, position: usize, now_ms: u64) -> NextHop {
        let entry = &mut self.0[position];
        if let Some(mac) = entry.mac {
            return NextHop::Resolved(entry.port, mac);
        }
        if entry.requested_ms.is_some_and(|requested_ms| now_ms < requested_ms + REQUEST_INTERVAL_MS) {
            return NextHop::Pending;
        }
        entry.requested_ms = Some(now_ms);
        NextHop::Unresolved(entry.port, entry.address)
    }
}

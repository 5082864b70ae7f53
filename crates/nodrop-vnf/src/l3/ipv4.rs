//! Forwarding of IPv4 packets (RFC 1812 section 5.2).

use std::net::Ipv4Addr;

use nodrop_wire::checksum;

use super::{ETHERNET_BYTES, Router};
use crate::{Cause, ForwardingDecision, FrameBuffer};

const HEADER_BYTES: usize = 20;
const TTL: usize = 8;
const CHECKSUM: usize = 10;
const DST: usize = 16;

impl Router {
    #[inline]
    pub(super) fn forward_ipv4(&mut self, frame: &mut FrameBuffer, now_ms: u64) -> ForwardingDecision {
        let packet = &mut frame.bytes_mut()[ETHERNET_BYTES..];
        let dst = match check(packet) {
            Ok(dst) => dst,
            Err(cause) => return ForwardingDecision::Drop(cause),
        };
        if dst.is_multicast() || dst.is_broadcast() || dst.is_loopback() || self.is_local(dst) {
            return ForwardingDecision::Drop(Cause::NotForwardable);
        }
        if packet[TTL] <= 1 {
            return ForwardingDecision::Drop(Cause::TtlExpired);
        }
        let Some(next) = self.routes4.find(dst.to_bits()) else { return ForwardingDecision::Drop(Cause::NoRoute) };
        decrement_ttl(packet);
        self.send_to_next_hop(frame, next, now_ms)
    }
}

/// Validate the header and return the destination. Source: RFC 1812 section 5.2.2.
#[inline]
fn check(packet: &[u8]) -> Result<Ipv4Addr, Cause> {
    let Some(header) = packet.first_chunk::<HEADER_BYTES>() else { return Err(Cause::Malformed) };
    let header_bytes = usize::from(header[0] & 0x0f) * 4;
    let total_bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] >> 4 != 4 || header_bytes < HEADER_BYTES || total_bytes < header_bytes || total_bytes > packet.len() {
        return Err(Cause::Malformed);
    }
    if checksum::finish(checksum::sum(&packet[..header_bytes])) != 0 {
        return Err(Cause::BadChecksum);
    }
    Ok(Ipv4Addr::new(header[DST], header[DST + 1], header[DST + 2], header[DST + 3]))
}

/// Decrement the TTL and update the checksum incrementally. Source: RFC 1624 equation 3.
#[inline]
fn decrement_ttl(packet: &mut [u8]) {
    let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let before = word(packet, TTL);
    packet[TTL] -= 1;
    let after = word(packet, TTL);
    let sum = u64::from(!word(packet, CHECKSUM)) + u64::from(!before) + u64::from(after);
    packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum::finish(sum).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_follows_a_decremented_ttl_whatever_it_was() {
        for last in 0..=u16::MAX {
            let mut header = [0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 19, 0, 0];
            header[18..].copy_from_slice(&last.to_be_bytes());
            let sum = checksum::finish(checksum::sum(&header));
            header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
            decrement_ttl(&mut header);
            assert_eq!(header[TTL], 63);
            assert_eq!(checksum::finish(checksum::sum(&header)), 0, "{header:?}");
        }
    }
}

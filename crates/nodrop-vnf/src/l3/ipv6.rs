//! Forwarding of IPv6 packets (RFC 8200 section 3).

use std::net::Ipv6Addr;

use super::{ETHERNET_BYTES, Router};
use crate::{Cause, ForwardingDecision, FrameBuffer};

const HEADER_BYTES: usize = 40;
const HOP_LIMIT: usize = 7;

impl Router {
    #[inline]
    pub(super) fn forward_ipv6(&mut self, frame: &mut FrameBuffer, now_ms: u64) -> ForwardingDecision {
        let packet = &mut frame.bytes_mut()[ETHERNET_BYTES..];
        let Some(dst) = destination(packet) else { return ForwardingDecision::Drop(Cause::Malformed) };
        // RFC 4291 section 2.5.6: link-local packets must not leave their link.
        if dst.is_multicast() || dst.is_loopback() || dst.is_unicast_link_local() || self.is_local(dst) {
            return ForwardingDecision::Drop(Cause::NotForwardable);
        }
        if packet[HOP_LIMIT] <= 1 {
            return ForwardingDecision::Drop(Cause::TtlExpired);
        }
        let Some(next) = self.routes6.find(dst.to_bits()) else { return ForwardingDecision::Drop(Cause::NoRoute) };
        packet[HOP_LIMIT] -= 1;
        self.send_to_next_hop(frame, next, now_ms)
    }
}

/// Validate the header and return the destination.
#[inline]
fn destination(packet: &[u8]) -> Option<Ipv6Addr> {
    let header = packet.first_chunk::<HEADER_BYTES>()?;
    let payload_bytes = usize::from(u16::from_be_bytes([header[4], header[5]]));
    if header[0] >> 4 != 6 || HEADER_BYTES + payload_bytes > packet.len() {
        return None;
    }
    let dst: [u8; 16] = *header[24..].first_chunk()?;
    Some(dst.into())
}

//! Forwarding of IPv4 packets (RFC 1812 section 5.2).

use super::{ETHERNET_BYTES, Router};
use crate::ipv4::{Ipv4Header, decrement_ttl};
use crate::{Cause, ForwardingDecision, FrameBuffer};

impl Router {
    #[inline]
    pub(super) fn forward_ipv4(&mut self, frame: &mut FrameBuffer, now_ms: u64) -> ForwardingDecision {
        let packet = &mut frame.bytes_mut()[ETHERNET_BYTES..];
        let Ipv4Header { dst, ttl, .. } = match Ipv4Header::parse(packet) {
            Ok(header) => header,
            Err(cause) => return ForwardingDecision::Drop(cause),
        };
        if dst.is_multicast() || dst.is_broadcast() || dst.is_loopback() || self.is_local(dst) {
            return ForwardingDecision::Drop(Cause::NotForwardable);
        }
        if ttl <= 1 {
            return ForwardingDecision::Drop(Cause::TtlExpired);
        }
        let Some(next) = self.routes4.find(dst.to_bits()) else { return ForwardingDecision::Drop(Cause::NoRoute) };
        decrement_ttl(packet);
        self.send_to_next_hop(frame, next, now_ms)
    }
}

//! Packets from subscribers into tunnels.

use super::{Bras, CORE_HEADER_BYTES, CPE_HEADER_BYTES, ETHERNET_BYTES, TtlHandling};
use crate::ipv4::{Ipv4Header, decrement_ttl};
use crate::{Cause, ForwardingDecision, FrameBuffer};

impl Bras {
    /// Forward the packet of the subscriber with this key.
    #[inline]
    pub(super) fn forward_upstream(&self, frame: &mut FrameBuffer, key: u32) -> Result<ForwardingDecision, Cause> {
        let packet = &mut frame.bytes_mut()[CPE_HEADER_BYTES..];
        let Ipv4Header { total_bytes, ttl, dst, .. } = Ipv4Header::parse(packet)?;
        let tunnel = &self.tunnels[self.routes.find(dst).ok_or(Cause::NoRoute)?];
        if CORE_HEADER_BYTES - ETHERNET_BYTES + total_bytes > self.core_mtu {
            return Err(Cause::TooLong);
        }
        if self.ttl == TtlHandling::Router {
            if ttl <= 1 {
                return Err(Cause::TtlExpired);
            }
            decrement_ttl(packet);
        }
        frame.truncate(CPE_HEADER_BYTES + total_bytes);
        frame.replace_header(CPE_HEADER_BYTES, &tunnel.headers(total_bytes, key));
        Ok(ForwardingDecision::Forward(tunnel.port))
    }
}

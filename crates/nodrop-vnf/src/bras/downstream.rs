//! Packets out of tunnels to subscribers.

use super::{
    Bras, C_TAG, CPE_HEADER_BYTES, ETHERNET_BYTES, GRE, GRE_BYTES, GRE_KEYED_IPV4, IPV4, Lookup, MPLS_BYTES, S_TAG,
};
use crate::ipv4::{Ipv4Header, decrement_ttl};
use crate::{Cause, ForwardingDecision, FrameBuffer};

const BOTTOM_OF_STACK: u8 = 1;

impl Bras {
    /// Forward the packet in a frame with an MPLS label, whose value does not matter: the router before may have any
    /// label for this BRAS.
    #[inline]
    pub(super) fn forward_downstream(&self, frame: &mut FrameBuffer, now_ms: u64) -> Result<ForwardingDecision, Cause> {
        let [_, _, label_end, _] = frame.read(ETHERNET_BYTES).ok_or(Cause::Malformed)?;
        if label_end & BOTTOM_OF_STACK == 0 {
            return Err(Cause::Malformed);
        }
        let outer_at = ETHERNET_BYTES + MPLS_BYTES;
        let outer = Ipv4Header::parse(&frame.bytes()[outer_at..])?;
        if outer.dst != self.address {
            return Err(Cause::NotForUs);
        }
        let gre_at = outer_at + outer.header_bytes;
        let inner_at = gre_at + GRE_BYTES;
        let outer_end = outer_at + outer.total_bytes;
        if outer.protocol != GRE
            || outer.is_fragment
            || inner_at > outer_end
            || frame.read(gre_at) != Some(GRE_KEYED_IPV4)
        {
            return Err(Cause::Malformed);
        }
        let key = u32::from_be_bytes(frame.read(gre_at + 4).ok_or(Cause::Malformed)?);
        let line = self.subscribers.line(key).ok_or(Cause::UnknownKey)?;
        let packet = &mut frame.bytes_mut()[inner_at..outer_end];
        let inner = Ipv4Header::parse(packet)?;
        let station = match self.subscribers.find(key, inner.dst, now_ms) {
            Lookup::Known(mac) => mac,
            Lookup::Expired => return Err(Cause::ArpExpired),
            Lookup::Missing => return Err(Cause::ArpMissing),
        };
        if inner.ttl <= 1 {
            return Err(Cause::TtlExpired);
        }
        decrement_ttl(packet);
        frame.truncate(inner_at + inner.total_bytes);
        let mut header = [0; CPE_HEADER_BYTES];
        header[..6].copy_from_slice(&station.0);
        header[6..12].copy_from_slice(&self.ports[usize::from(line.port)].mac.0);
        header[12..14].copy_from_slice(&S_TAG);
        header[14..16].copy_from_slice(&line.s_tag.to_be_bytes());
        header[16..18].copy_from_slice(&C_TAG);
        header[18..20].copy_from_slice(&line.c_tag.to_be_bytes());
        header[20..].copy_from_slice(&IPV4);
        frame.replace_header(inner_at, &header);
        Ok(ForwardingDecision::Forward(line.port.into()))
    }
}

//! A cross-connect: frames received on one port leave through the other, optionally with rewritten MAC addresses.

use nodrop_wire::MacAddr;

use crate::{Cause, ForwardingDecision, FrameBuffer, Network};

/// A cross-connect of two ports.
#[derive(Clone, Debug)]
pub struct CrossConnect {
    /// Destination and source address to write to frames that leave through each port; None keeps them.
    pub addresses: [Option<(MacAddr, MacAddr)>; 2],
}

impl Network for CrossConnect {
    #[inline]
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, _now_ms: u64) -> ForwardingDecision {
        if frame.bytes().len() <= 14 {
            return ForwardingDecision::Drop(Cause::Malformed);
        }
        let to = 1 - from;
        if let Some((dst, src)) = self.addresses[to] {
            frame.set_addresses(dst.0, src.0);
        }
        ForwardingDecision::Forward(to)
    }
}

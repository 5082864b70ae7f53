//! A cross-connect: whatever comes in on one port leaves on the other, MAC addresses rewritten where asked.

use nodrop_wire::MacAddr;

use crate::{Cause, FrameBuffer, Network, Verdict};

/// Two ports, joined.
#[derive(Clone, Debug)]
pub struct CrossConnect {
    /// For each port the addresses written on frames that leave there, destination and source; none: they stay.
    pub addresses: [Option<(MacAddr, MacAddr)>; 2],
}

impl Network for CrossConnect {
    #[inline]
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, _now_ms: u64) -> Verdict {
        if frame.bytes().len() <= 14 {
            return Verdict::Drop(Cause::Malformed);
        }
        let to = 1 - from;
        if let Some((dst, src)) = self.addresses[to] {
            frame.address(dst.0, src.0);
        }
        Verdict::Forward(to)
    }
}

//! ARP of the subscribers.

use super::{ARP, Bras, C_TAG, CPE_HEADER_BYTES, S_TAG};
use crate::arp::{Arp, REQUEST};
use crate::{Cause, ForwardingDecision, FrameBuffer};

impl Bras {
    /// Learn a subscriber's MAC address from a request or reply, and reply to a request with the MAC address of the
    /// port: the BRAS is the next hop to all addresses but the subscriber's own.
    pub(super) fn handle_arp(
        &mut self,
        frame: &mut FrameBuffer,
        key: u32,
        from: usize,
        now_ms: u64,
    ) -> ForwardingDecision {
        let Some(packet) = Arp::read(frame, CPE_HEADER_BYTES) else {
            return ForwardingDecision::Drop(Cause::Malformed);
        };
        // A sender of 0.0.0.0 only asks whether an address is in use (RFC 5227 section 2.1.1).
        if packet.sender.is_unspecified() {
            return ForwardingDecision::Consume;
        }
        self.subscribers.learn(key, packet.sender, packet.sender_mac, now_ms);
        if packet.operation != REQUEST || packet.target == packet.sender {
            return ForwardingDecision::Consume;
        }
        let (mac, tags) = (self.ports[from].mac, frame.read::<8>(12).unwrap_or_default());
        debug_assert_eq!((&tags[..2], &tags[4..6]), (&S_TAG[..], &C_TAG[..]));
        let header = [&packet.sender_mac.0[..], &mac.0, &tags, &ARP].concat();
        packet.reply(mac).write(&header, frame);
        ForwardingDecision::Reply(from)
    }
}

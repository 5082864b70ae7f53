//! ARP of the router (RFC 826).

use std::net::Ipv4Addr;

use nodrop_wire::MacAddr;

use super::{ETHERNET_BYTES, Router};
use crate::arp::{Arp, ETHER_TYPE, REQUEST};
use crate::{Cause, ForwardingDecision, FrameBuffer};

const BROADCAST: MacAddr = MacAddr([0xff; 6]);

impl Router {
    pub(super) fn handle_arp(&mut self, frame: &mut FrameBuffer, from: usize) -> ForwardingDecision {
        let Some(packet) = Arp::read(frame, ETHERNET_BYTES) else { return ForwardingDecision::Drop(Cause::Malformed) };
        if !self.owns(from, packet.target) {
            return ForwardingDecision::Consume;
        }
        self.neighbors.learn(packet.sender.into(), packet.sender_mac);
        if packet.operation != REQUEST {
            return ForwardingDecision::Consume;
        }
        write(&packet.reply(self.ports[from].mac), packet.sender_mac, frame);
        ForwardingDecision::Reply(from)
    }
}

/// Replace `frame` by a request for the MAC address of `target`.
pub(super) fn write_request(frame: &mut FrameBuffer, mac: MacAddr, source: Ipv4Addr, target: Ipv4Addr) {
    let request = Arp { operation: REQUEST, sender_mac: mac, sender: source, target_mac: MacAddr([0; 6]), target };
    write(&request, BROADCAST, frame);
}

fn write(packet: &Arp, dst: MacAddr, frame: &mut FrameBuffer) {
    packet.write(&[&dst.0[..], &packet.sender_mac.0, &ETHER_TYPE].concat(), frame);
}

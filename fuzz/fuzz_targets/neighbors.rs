//! Address resolution messages: any frame is parsed, and a reply to it is parsed back.
//!
//! Input: a frame.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nodrop_wire::{MacAddr, Message, NeighborEncoder, NeighborMessage};

const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fuzz_target!(init: nodrop_fuzz::keep_overflows(), |frame: &[u8]| {
    let Some(received) = NeighborMessage::parse(frame) else { return };
    let Message::Request { target, sender, sender_mac } = received.message else { return };
    let frame = NeighborEncoder { mac: OWN, tags: &[] }.reply(target, sender, sender_mac).expect("addresses of one IP version");
    let reply = NeighborMessage::parse(&frame).expect("a reply");
    assert_eq!(reply.message, Message::Reply { address: target, mac: OWN });
});

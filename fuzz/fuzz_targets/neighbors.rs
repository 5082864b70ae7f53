//! Messages between neighbours: any frame read, and what is answered read back as it was meant.
//!
//! Input: a frame.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nodrop_wire::{Heard, MacAddr, Message, Speaker};

const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fuzz_target!(init: nodrop_fuzz::keep_overflows(), |frame: &[u8]| {
    let Some(heard) = Heard::parse(frame) else { return };
    let Message::Question { target, asker, asker_mac } = heard.message else { return };
    let answer = Speaker { mac: OWN, tags: &[] }.tell(target, asker, asker_mac).expect("both of one IP version");
    let told = Heard::parse(&answer).expect("an answer");
    assert_eq!(told.message, Message::Answer { address: target, mac: OWN });
});

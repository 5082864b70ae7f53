//! Parsers of the loss ledger: kernel types, netlink replies, tables.
//!
//! Input: a byte that selects the parser, and its data.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nodrop_port::observe::fuzzing::{read_queues, read_tables, read_types};

fuzz_target!(init: nodrop_fuzz::keep_overflows(), |bytes: &[u8]| {
    match bytes {
        [0, types @ ..] => read_types(types),
        [1, reply @ ..] => read_queues(reply),
        [_, text @ ..] => read_tables(&String::from_utf8_lossy(text)),
        [] => (),
    }
});

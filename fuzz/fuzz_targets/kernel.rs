//! What the ledger reads from the kernel and from other processes: its types, its answers, its tables.
//!
//! Input: a byte that says what it is, and the thing itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nodrop_port::observe::fuzzing::{read_queues, read_tables, read_types};

fuzz_target!(init: nodrop_fuzz::keep_overflows(), |bytes: &[u8]| {
    match bytes {
        [0, types @ ..] => read_types(types),
        [1, answer @ ..] => read_queues(answer),
        [_, text @ ..] => read_tables(&String::from_utf8_lossy(text)),
        [] => (),
    }
});

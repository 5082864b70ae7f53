//! What a VNF knows of every flow, for VNFs that keep such a table: firewalls, NATs, load balancers.

use nodrop_port::memory::Memory;

use crate::{FrameBuffer, Network, Verdict};

/// Words of an account: one cache line.
const WORDS: usize = 8;
/// Bytes of an account.
pub const ACCOUNT_BYTES: usize = WORDS * size_of::<u64>();
/// Where a frame says of what type it is, after two addresses.
const TYPE_AT: usize = 12;
const TAG_BYTES: usize = 4;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
const TAGS_MAX: usize = 2;

/// A network function that looks up, and keeps, an account of the flow that each frame belongs to.
///
/// The account is found by the flow's addresses and ports alone, so flows lie all over the table as in any hash table, and
/// each frame touches one line of it. Of two flows with one place the later takes it over.
#[derive(Debug)]
pub struct FlowTable<N> {
    network: N,
    accounts: Memory,
    count: usize,
}

impl<N: Network> FlowTable<N> {
    /// `network` with a table in this memory, of as many accounts as there is room for: at least one.
    #[must_use]
    pub fn new(network: N, accounts: Memory) -> Self {
        let count = accounts.len() / ACCOUNT_BYTES;
        assert!(count > 0, "a table has an account");
        Self { network, accounts, count }
    }

    /// Frames and bytes of the flow that a frame belongs to, as far as the table knows.
    pub fn account(&mut self, frame: &FrameBuffer) -> (u64, u64) {
        let key = key(frame);
        match self.line(key) {
            [found, frames, bytes, ..] if *found == key => (*frames, *bytes),
            _ => (0, 0),
        }
    }

    #[inline]
    fn line(&mut self, key: u64) -> &mut [u64] {
        // The upper half of the product spreads the keys evenly, whatever the number of accounts.
        let place = ((u128::from(key) * self.count as u128) >> 64) as usize;
        &mut self.accounts.words_mut()[place * WORDS..(place + 1) * WORDS]
    }
}

impl<N: Network> Network for FlowTable<N> {
    #[inline]
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, now_ms: u64) -> Verdict {
        let (key, bytes) = (key(frame), frame.bytes().len() as u64);
        let line = self.line(key);
        if line[0] != key {
            line.fill(0);
            line[0] = key;
        }
        line[1] += 1;
        line[2] += bytes;
        line[3] = now_ms;
        self.network.handle(frame, from, now_ms)
    }

    fn group(&self, group: usize) -> &[usize] {
        self.network.group(group)
    }
}

/// Of the flow a frame belongs to: addresses and ports of IPv4 and IPv6, station addresses of others.
fn key(frame: &FrameBuffer) -> u64 {
    let mut at = TYPE_AT;
    for _ in 0..TAGS_MAX {
        if frame.read(at).is_some_and(|found| TAGS.contains(&found)) {
            at += TAG_BYTES;
        }
    }
    let header = at + 2;
    let flow = match frame.read(at) {
        Some(IPV4) => mixed(frame, header + 12, 12),
        Some(IPV6) => mixed(frame, header + 8, 36),
        _ => None,
    };
    flow.or_else(|| mixed(frame, 0, TYPE_AT)).unwrap_or(1)
}

/// A hash of so many bytes, a multiple of four; never 0, which is nobody's.
fn mixed(frame: &FrameBuffer, at: usize, length: usize) -> Option<u64> {
    let words = frame.bytes().get(at..at + length)?.chunks_exact(4);
    let hash = words.fold(0x9e37_79b9_7f4a_7c15_u64, |hash, word| {
        let word = word.iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
        let mixed = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ mixed >> 32
    });
    Some((hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).max(1))
}

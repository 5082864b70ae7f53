//! Per-flow state, as kept by firewalls, NATs and load balancers.

use nodrop_port::memory::Memory;

use crate::{ForwardingDecision, FrameBuffer, Network};

/// Words of an entry: one cache line.
const WORDS: usize = 8;
/// Bytes of an entry.
pub const ENTRY_BYTES: usize = WORDS * size_of::<u64>();
/// Offset of the EtherType.
const TYPE_AT: usize = 12;
const TAG_BYTES: usize = 4;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
const TAGS_MAX: usize = 2;

/// A network function with a table that stores an entry for the flow of each frame.
///
/// An entry is located by a hash of the flow's addresses and ports, so flows are spread over the table, and each frame
/// accesses one cache line of it. On a collision, the later flow replaces the earlier one.
#[derive(Debug)]
pub struct FlowTable<N> {
    network: N,
    entries: Memory,
    count: usize,
}

impl<N: Network> FlowTable<N> {
    /// Wrap `network` with a table in this memory, with as many entries as fit: at least one.
    #[must_use]
    pub fn new(network: N, entries: Memory) -> Self {
        let count = entries.len() / ENTRY_BYTES;
        assert!(count > 0, "the table needs memory for at least one entry");
        Self { network, entries, count }
    }

    /// Return the frames and bytes counted for a frame's flow.
    pub fn flow_counts(&mut self, frame: &FrameBuffer) -> (u64, u64) {
        let key = key(frame);
        match self.entry(key) {
            [flow, frames, bytes, ..] if *flow == key => (*frames, *bytes),
            _ => (0, 0),
        }
    }

    #[inline]
    fn entry(&mut self, key: u64) -> &mut [u64] {
        // The upper half of the product distributes the keys evenly for any number of entries.
        let index = ((u128::from(key) * self.count as u128) >> 64) as usize;
        &mut self.entries.words_mut()[index * WORDS..(index + 1) * WORDS]
    }
}

impl<N: Network> Network for FlowTable<N> {
    #[inline]
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, now_ms: u64) -> ForwardingDecision {
        let (key, bytes) = (key(frame), frame.bytes().len() as u64);
        let entry = self.entry(key);
        if entry[0] != key {
            entry.fill(0);
            entry[0] = key;
        }
        entry[1] += 1;
        entry[2] += bytes;
        entry[3] = now_ms;
        self.network.handle(frame, from, now_ms)
    }

    fn due_ms(&self) -> Option<u64> {
        self.network.due_ms()
    }

    fn originate(&mut self, frame: &mut FrameBuffer, now_ms: u64) -> Option<usize> {
        self.network.originate(frame, now_ms)
    }

    fn group(&self, group: usize) -> &[usize] {
        self.network.group(group)
    }

    fn table_sizes(&self) -> Vec<(&'static str, u64)> {
        self.network.table_sizes()
    }
}

/// Return the key of a frame's flow: addresses and ports for IPv4 and IPv6, MAC addresses otherwise.
fn key(frame: &FrameBuffer) -> u64 {
    let at = type_offset(frame);
    let header = at + 2;
    let flow = match frame.read(at) {
        Some(IPV4) => hash(frame, header + 12, 12),
        Some(IPV6) => hash(frame, header + 8, 36),
        _ => None,
    };
    flow.or_else(|| hash(frame, 0, TYPE_AT)).unwrap_or(1)
}

/// Return a key that is the same for both directions of a flow.
pub(crate) fn symmetric_key(frame: &FrameBuffer) -> u64 {
    let at = type_offset(frame);
    let header = at + 2;
    let ends = match frame.read(at) {
        Some(IPV4) => [0, 1].map(|end| join(hash(frame, header + 12 + 4 * end, 4), port(frame, header + 20 + 2 * end))),
        Some(IPV6) => {
            [0, 1].map(|end| join(hash(frame, header + 8 + 16 * end, 16), port(frame, header + 40 + 2 * end)))
        }
        _ => [None, None],
    };
    let [source, destination] = ends.map(|end| end.map(mix));
    source.zip(destination).map_or(1, |(source, destination)| source.wrapping_add(destination))
}

/// Return the offset of the EtherType behind VLAN tags.
fn type_offset(frame: &FrameBuffer) -> usize {
    let mut at = TYPE_AT;
    for _ in 0..TAGS_MAX {
        if frame.read(at).is_some_and(|kind| TAGS.contains(&kind)) {
            at += TAG_BYTES;
        }
    }
    at
}

fn port(frame: &FrameBuffer, at: usize) -> u16 {
    frame.read(at).map_or(0, u16::from_be_bytes)
}

fn join(address: Option<u64>, port: u16) -> Option<u64> {
    address.map(|address| address ^ u64::from(port))
}

/// Distribute the bits of a key over a word (finalizer of SplitMix64).
pub(crate) fn mix(key: u64) -> u64 {
    let mixed = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Return a hash of `length` bytes, a multiple of four; never 0, which marks a free entry.
fn hash(frame: &FrameBuffer, at: usize, length: usize) -> Option<u64> {
    let words = frame.bytes().get(at..at + length)?.chunks_exact(4);
    let hash = words.fold(0x9e37_79b9_7f4a_7c15_u64, |hash, word| {
        let word = word.iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
        let mixed = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ mixed >> 32
    });
    Some((hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).max(1))
}

//! A frame of one size, built once; only ranges, signature and checksums change from frame to frame.

use nodrop_model::StreamSpec;

use crate::patch::Patch;
use crate::signature::{SIGNATURE_BYTES, Signature};
use crate::stack::{Checksum, Stack, seal};
use crate::{WireError, checksum};

/// Fields that can change at once.
const PATCHES_MAX: usize = 8;
/// No less than the sum of a patch's four words, and no change to any checksum.
const ALL_ONES: u64 = 4 * 0xffff;

/// What something live adds to a checksum's sum: nothing, itself, or its complement, as a mask for either.
#[derive(Clone, Copy, Debug, Default)]
struct Effect {
    adds: u64,
    subtracts: u64,
}

impl Effect {
    #[inline]
    fn of(self, sum: u64) -> u64 {
        sum & self.adds | (ALL_ONES - sum) & self.subtracts
    }
}

/// A checksum that changes from frame to frame.
#[derive(Clone, Debug)]
struct LiveChecksum {
    checksum: Checksum,
    /// The sum over what never changes.
    static_sum: u64,
    signature: Effect,
    patches: [Effect; PATCHES_MAX],
}

/// A frame ready to be copied and completed.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: Vec<u8>,
    stream_id: u16,
    signature_offset: usize,
    patches: Vec<Patch>,
    checksums: Vec<LiveChecksum>,
}

impl Template {
    /// Build a stream's frame of `frame_bytes`, with FCS.
    ///
    /// # Errors
    /// When headers do not follow each other, a number does not fit its field, or the frame is too small or too large.
    pub fn new(spec: &StreamSpec, frame_bytes: usize) -> Result<Self, WireError> {
        let stack = Stack::new(&spec.layers)?;
        let mut bytes = stack.emit(frame_bytes)?;
        let signature_offset = stack.bytes;
        Signature::emit_static(spec.stream_id, &mut bytes[signature_offset..]);
        let mut patches = Vec::new();
        for range in &spec.ranges {
            patches.extend(Patch::of(range, &stack, &bytes)?);
        }
        if patches.len() > PATCHES_MAX {
            return Err(WireError::Ranges { asked: patches.len(), most: PATCHES_MAX });
        }
        let sums: Vec<u64> = patches.iter().map(|patch| patch.apply(&mut bytes, 0)).collect();
        let checksums = stack.checksums(&bytes);
        seal(&mut bytes, &checksums);
        let checksums = Probe { frame: &bytes, checksums: &checksums }.live(signature_offset, &patches, &sums);
        Ok(Self { bytes, stream_id: spec.stream_id, signature_offset, patches, checksums })
    }

    /// The frame before completion: what a buffer must hold before [`Template::complete`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The stream it was built for.
    #[must_use]
    pub fn stream_id(&self) -> u16 {
        self.stream_id
    }

    /// Where the signature begins in it.
    #[must_use]
    pub fn signature_offset(&self) -> usize {
        self.signature_offset
    }

    /// Turn a buffer that holds this template into frame `sequence` of the stream.
    #[inline]
    pub fn complete(&self, buffer: &mut [u8], sequence: u64, time_ns: u64, trial_tag: u8) {
        let signature = Signature { stream_id: self.stream_id, time_ns, trial_tag, sequence };
        signature.emit_live(&mut buffer[self.signature_offset..self.signature_offset + SIGNATURE_BYTES]);
        let signed = checksum::sum48(signature.time()) + checksum::sum48(signature.tail());
        let mut sums = [0; PATCHES_MAX];
        for (sum, patch) in sums.iter_mut().zip(&self.patches) {
            *sum = patch.apply(buffer, signature.sequence());
        }
        for live in &self.checksums {
            let patched = live.patches.iter().zip(&sums).take(self.patches.len());
            let patched: u64 = patched.map(|(effect, sum)| effect.of(*sum)).sum();
            let computed = live.checksum.finish(live.static_sum + live.signature.of(signed) + patched);
            buffer[live.checksum.at..live.checksum.at + 2].copy_from_slice(&computed.to_be_bytes());
        }
    }
}

/// Finds out how checksums depend on what changes, by changing it: how they cover each other need not be known.
struct Probe<'a> {
    frame: &'a [u8],
    checksums: &'a [Checksum],
}

impl Probe<'_> {
    /// The checksums that change with the signature or a patch; `sums` are those of the patches as they are in the frame.
    fn live(&self, signature_offset: usize, patches: &[Patch], sums: &[u64]) -> Vec<LiveChecksum> {
        let signature = self.effects(signature_offset + SIGNATURE_BYTES - 1);
        let patched: Vec<Vec<Effect>> = patches.iter().map(|patch| self.effects(patch.at + patch.width - 1)).collect();
        let live = |(index, checksum): (usize, &Checksum)| {
            let mut effects = [Effect::default(); PATCHES_MAX];
            effects.iter_mut().zip(&patched).for_each(|(effect, of)| *effect = of[index]);
            let is_live = |effect: &Effect| effect.adds | effect.subtracts != 0;
            let sealed = u64::from(u16::from_be_bytes([self.frame[checksum.at], self.frame[checksum.at + 1]]));
            let moving: u64 = effects.iter().zip(sums).map(|(effect, sum)| ALL_ONES - effect.of(*sum)).sum();
            std::iter::once(&signature[index]).chain(&effects).any(is_live).then(|| LiveChecksum {
                checksum: checksum.clone(),
                static_sum: 0xffff - sealed + moving,
                signature: signature[index],
                patches: effects,
            })
        };
        self.checksums.iter().enumerate().filter_map(live).collect()
    }

    /// What the 16-bit word that ends at this byte adds to each checksum.
    fn effects(&self, at: usize) -> Vec<Effect> {
        let mut changed = self.frame.to_vec();
        changed[at] ^= 1;
        seal(&mut changed, self.checksums);
        let grew = changed[at] & 1 == 1;
        let effect = |checksum: &Checksum| {
            let word = |frame: &[u8]| u64::from(u16::from_be_bytes([frame[checksum.at], frame[checksum.at + 1]]));
            // A checksum is the complement of its sum: as the one falls, the other rises.
            match ((word(self.frame) + 0xffff - word(&changed)) % 0xffff, grew) {
                (0, _) => Effect::default(),
                (1, true) | (0xfffe, false) => Effect { adds: u64::MAX, subtracts: 0 },
                _ => Effect { adds: 0, subtracts: u64::MAX },
            }
        };
        self.checksums.iter().map(effect).collect()
    }
}

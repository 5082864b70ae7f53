//! A frame of one size, built once; only ranges, signature and checksums change from frame to frame.

use nodrop_model::StreamSpec;

use crate::changes::{Changes, FollowingChecksum};
use crate::patch::Patch;
use crate::signature::{SIGNATURE_BYTES, Signature};
use crate::stack::{Checksum, ChecksumSpot, Stack, seal};
use crate::{WireError, checksum};

/// Fields that can change at once.
const PATCHES_MAX: usize = 8;
/// What a word adds to a checksum's sum: itself, its complement, or nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effect {
    inverts: u64,
    keeps: u64,
}

impl Effect {
    const ADDS: Self = Self { inverts: 0, keeps: u64::MAX };
    const SUBTRACTS: Self = Self { inverts: u64::MAX, keeps: u64::MAX };

    pub(crate) fn is_some(&self) -> bool {
        self.keeps != 0
    }

    /// What takes it back.
    fn opposite(self) -> Self {
        Self { inverts: !self.inverts, ..self }
    }

    #[inline]
    fn of(self, word: u64) -> u64 {
        checksum::sum64((word ^ self.inverts) & self.keeps)
    }
}

/// A checksum that changes with several patches, but not with the signature.
#[derive(Clone, Debug)]
struct PatchedChecksum {
    spot: ChecksumSpot,
    /// The sum over what never changes.
    static_sum: u64,
    /// Positions of the patches it changes with, and what they add.
    effects: Vec<(usize, Effect)>,
}

/// The one checksum that changes with the signature: the innermost that covers it. To those further out a packet with its
/// checksum right is a constant.
#[derive(Clone, Debug)]
struct SignedChecksum {
    spot: ChecksumSpot,
    /// The sum over what never changes.
    static_sum: u64,
}

/// A frame ready to be copied and completed.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: Vec<u8>,
    stream_id: u16,
    signature_offset: usize,
    patches: Vec<LivePatch>,
    signed: Option<SignedChecksum>,
    /// Those that change with several patches.
    patched: Vec<PatchedChecksum>,
}

/// A patch and what depends on it.
#[derive(Clone, Debug)]
struct LivePatch {
    patch: Patch,
    /// What it adds to the signed checksum.
    effect: Effect,
    /// A checksum that changes with it alone, with the sum over what never changes.
    own: Option<(ChecksumSpot, u64, Effect)>,
}

impl LivePatch {
    /// Write it and its own checksum; gives its word.
    #[inline(always)]
    fn apply(&self, frame: &mut [u8], sequence: u64) -> u64 {
        let word = self.patch.word(sequence);
        self.patch.write(frame, word);
        if let Some((spot, static_sum, effect)) = &self.own {
            spot.write(frame, static_sum + effect.of(word));
        }
        word
    }

    /// The same where its value stays for `every` frames; gives what it adds to the signed checksum.
    #[inline(always)]
    fn apply_lasting(&self, frame: &mut [u8], sequence: u64, every: u64, value: &mut Value) -> u64 {
        if sequence.wrapping_sub(value.first) >= every {
            *value = self.value(sequence - sequence % every);
        }
        self.patch.write(frame, value.word);
        if let Some((spot, ..)) = &self.own {
            spot.put(frame, value.own);
        }
        value.signed
    }

    /// Its value from frame `first` on.
    #[inline(never)]
    fn value(&self, first: u64) -> Value {
        let word = self.patch.word(first);
        let own = self.own.as_ref().map_or(0, |(spot, static_sum, effect)| spot.field(static_sum + effect.of(word)));
        Value { first, word, own, signed: self.effect.of(word) }
    }
}

/// A value of a patch.
#[derive(Clone, Debug)]
struct Value {
    /// The first frame that has it.
    first: u64,
    word: u64,
    /// The patch's own checksum.
    own: u16,
    /// What it adds to the signed checksum.
    signed: u64,
}

/// What lasts from frame to frame of a template: the values that stay for several.
#[derive(Clone, Debug)]
pub struct Lasting(Vec<Value>);

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
        let words: Vec<u64> = patches.iter().map(|patch| patch.word(0)).collect();
        patches.iter().zip(&words).for_each(|(patch, word)| patch.write(&mut bytes, *word));
        let checksums = stack.checksums(&bytes);
        Ok(Self::assemble(bytes, spec.stream_id, signature_offset, &checksums, patches, &words))
    }

    /// A frame that came from elsewhere, signature in place; of its checksums, these.
    pub(crate) fn of_frame(bytes: Vec<u8>, stream_id: u16, signature_offset: usize, checksums: &[Checksum]) -> Self {
        Self::assemble(bytes, stream_id, signature_offset, checksums, Vec::new(), &[])
    }

    /// Find out how checksums depend on signature and patches; `words` are those that the patches wrote.
    fn assemble(
        mut bytes: Vec<u8>,
        stream_id: u16,
        signature_offset: usize,
        checksums: &[Checksum],
        patches: Vec<Patch>,
        words: &[u64],
    ) -> Self {
        seal(&mut bytes, checksums);
        let probe = Probe::new(&bytes, checksums);
        let by_signature = probe.effects(signature_offset + SIGNATURE_BYTES - 1);
        let by_patches: Vec<_> = patches.iter().map(|patch| probe.effects(patch.end())).collect();
        let blank = |patch| LivePatch { patch, effect: Effect::default(), own: None };
        let mut patches: Vec<LivePatch> = patches.into_iter().map(blank).collect();
        let (mut signed, mut patched) = (None, Vec::new());
        for (index, checksum) in checksums.iter().enumerate() {
            let effects: Vec<Effect> = by_patches.iter().map(|of| of[index]).collect();
            let (spot, static_sum) = (checksum.spot, probe.static_sum(checksum, &effects, words));
            let some: Vec<_> = effects.iter().copied().enumerate().filter(|(_, effect)| effect.is_some()).collect();
            if by_signature[index].is_some() {
                signed = Some(SignedChecksum { spot, static_sum });
                patches.iter_mut().zip(effects).for_each(|(patch, effect)| patch.effect = effect);
            } else if let [(only, effect)] = some[..]
                && patches[only].own.is_none()
            {
                patches[only].own = Some((spot, static_sum, effect));
            } else if !some.is_empty() {
                patched.push(PatchedChecksum { spot, static_sum, effects: some });
            }
        }
        Self { bytes, stream_id, signature_offset, patches, signed, patched }
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

    /// What [`Template::complete`] does, where that is only counting and adding up; None where a field follows a table, or
    /// a checksum falls as what it covers rises.
    #[must_use]
    pub fn changes(&self) -> Option<Changes> {
        let follow = |spot: &ChecksumSpot, static_sum, covers_signature, effects: &[(usize, Effect)]| {
            effects.iter().all(|(_, effect)| effect.inverts == 0).then(|| FollowingChecksum {
                at: usize::from(spot.at),
                static_sum,
                covers_signature,
                covers: effects.iter().filter(|(_, effect)| effect.is_some()).map(|(position, _)| *position).collect(),
                zero_is_none: spot.is_never_zero(),
            })
        };
        let mut checksums = Vec::new();
        if let Some(SignedChecksum { spot, static_sum }) = &self.signed {
            let effects: Vec<_> = self.patches.iter().map(|patch| patch.effect).enumerate().collect();
            checksums.push(follow(spot, *static_sum, true, &effects)?);
        }
        for (position, patch) in self.patches.iter().enumerate() {
            if let Some((spot, static_sum, effect)) = &patch.own {
                checksums.push(follow(spot, *static_sum, false, &[(position, *effect)])?);
            }
        }
        for PatchedChecksum { spot, static_sum, effects } in &self.patched {
            checksums.push(follow(spot, *static_sum, false, effects)?);
        }
        let fields = self.patches.iter().map(|live| live.patch.counting()).collect::<Option<_>>()?;
        Some(Changes { fields, checksums })
    }

    /// What [`Template::complete`] keeps from one frame to the next.
    #[must_use]
    pub fn lasting(&self) -> Lasting {
        Lasting(self.patches.iter().map(|patch| patch.value(0)).collect())
    }

    /// Turn a buffer that holds this template into frame `sequence` of the stream. `lasting` is this template's.
    #[inline(always)]
    pub fn complete(&self, lasting: &mut Lasting, buffer: &mut [u8], sequence: u64, time_ns: u64, trial_tag: u8) {
        let signature = Signature { stream_id: self.stream_id, time_ns, trial_tag, sequence };
        let mut sum = signature.emit_live(&mut buffer[self.signature_offset..]);
        let sequence = signature.sequence();
        if self.patched.is_empty() {
            for (live, value) in self.patches.iter().zip(&mut lasting.0) {
                sum += match live.patch.every() {
                    None => live.effect.of(live.apply(buffer, sequence)),
                    Some(every) => live.apply_lasting(buffer, sequence, every, value),
                };
            }
        } else {
            sum += self.complete_patched(buffer, sequence);
        }
        if let Some(signed) = &self.signed {
            signed.spot.write(buffer, signed.static_sum + sum);
        }
    }

    /// Write the patches and the checksums that change with several of them; gives what the patches add to the signed one.
    #[inline(never)]
    fn complete_patched(&self, buffer: &mut [u8], sequence: u64) -> u64 {
        let (mut words, mut signed) = ([0; PATCHES_MAX], 0);
        for (live, word) in self.patches.iter().zip(&mut words) {
            *word = live.apply(buffer, sequence);
            signed += live.effect.of(*word);
        }
        for patched in &self.patched {
            let moving: u64 = patched.effects.iter().map(|(index, effect)| effect.of(words[index % PATCHES_MAX])).sum();
            patched.spot.write(buffer, patched.static_sum + moving);
        }
        signed
    }
}

/// Finds out how checksums depend on what changes, by changing it: how they cover each other need not be known.
pub(crate) struct Probe<'a> {
    frame: &'a [u8],
    checksums: &'a [Checksum],
}

impl<'a> Probe<'a> {
    /// Of a frame with its checksums right.
    pub(crate) fn new(frame: &'a [u8], checksums: &'a [Checksum]) -> Self {
        Self { frame, checksums }
    }

    /// A checksum's sum without the patches, whose words are in the frame now.
    fn static_sum(&self, checksum: &Checksum, effects: &[Effect], words: &[u64]) -> u64 {
        0xffff - u64::from(checksum.read(self.frame))
            + effects.iter().zip(words).map(|(effect, word)| effect.opposite().of(*word)).sum::<u64>()
    }

    /// What the 16-bit word that ends at this byte adds to each checksum.
    pub(crate) fn effects(&self, at: usize) -> Vec<Effect> {
        let mut changed = self.frame.to_vec();
        changed[at] ^= 1;
        seal(&mut changed, self.checksums);
        let grew = changed[at] & 1 == 1;
        let effect = |checksum: &Checksum| {
            let word = |frame: &[u8]| u64::from(checksum.read(frame));
            // A checksum is the complement of its sum: as the one falls, the other rises.
            match ((word(self.frame) + 0xffff - word(&changed)) % 0xffff, grew) {
                (0, _) => Effect::default(),
                (1, true) | (0xfffe, false) => Effect::ADDS,
                _ => Effect::SUBTRACTS,
            }
        };
        self.checksums.iter().map(effect).collect()
    }
}

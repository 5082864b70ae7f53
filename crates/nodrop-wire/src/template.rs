//! A frame of one size, built once; only ranges, signature and checksums change from frame to frame.

use nodrop_model::{ChecksumUpdate, FieldProgram, SignatureForm, StreamSpec};

use crate::patch::Patch;
use crate::signature::{HEADER_FIELDS_BYTES, HEADER_STREAM_MAX, SIGNATURE_BYTES, Signature};
use crate::stack::{Checksum, ChecksumOffset, Stack, seal};
use crate::{WireError, checksum};

/// Maximum number of variable fields.
const PATCHES_MAX: usize = 8;
/// Contribution of a word to a checksum's sum: the word, its complement, or nothing.
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

    /// Return the contribution that cancels this one.
    fn negated(self) -> Self {
        Self { inverts: !self.inverts, ..self }
    }

    #[inline]
    fn contribution(self, word: u64) -> u64 {
        checksum::sum64((word ^ self.inverts) & self.keeps)
    }
}

/// A checksum that depends on several patches, but not on the signature.
#[derive(Clone, Debug)]
struct PatchedChecksum {
    offset: ChecksumOffset,
    /// Sum over the constant bytes.
    static_sum: u64,
    /// Indices of the patches it depends on, and their contributions.
    effects: Vec<(usize, Effect)>,
}

/// The one checksum that depends on the signature: the innermost that covers it. For outer checksums, a packet with a
/// correct checksum contributes a constant.
#[derive(Clone, Debug)]
struct SignedChecksum {
    offset: ChecksumOffset,
    /// Sum over the constant bytes.
    static_sum: u64,
}

/// A frame ready to be copied and completed.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: Vec<u8>,
    stream_id: u16,
    signature: SignatureForm,
    signature_offset: usize,
    patches: Vec<LivePatch>,
    signed: Option<SignedChecksum>,
    /// Checksums that depend on several patches.
    patched: Vec<PatchedChecksum>,
}

/// What identifies the frames of a template.
#[derive(Clone, Copy, Debug)]
struct Identity {
    stream_id: u16,
    signature: SignatureForm,
    offset: usize,
}

/// Check that the headers of a stream can hold its signature.
fn check_header_signature(spec: &StreamSpec) -> Result<(), WireError> {
    if spec.stream_id > HEADER_STREAM_MAX {
        let problem = format!("holds stream ids up to {HEADER_STREAM_MAX}, not {}; use a lower one", spec.stream_id);
        return Err(WireError::HeaderSignature(problem));
    }
    if spec.ranges.iter().any(|range| range.layer + 1 == spec.layers.len()) {
        let problem = "occupies the UDP ports; remove the range of a port".to_owned();
        return Err(WireError::HeaderSignature(problem));
    }
    Ok(())
}

/// Return whether a checksum depends on the byte at this offset.
fn has_checksum_over(frame: &[u8], checksums: &[Checksum], at: usize) -> bool {
    let mut sealed = frame.to_vec();
    seal(&mut sealed, checksums);
    Probe::new(&sealed, checksums).effects(at).iter().any(Effect::is_some)
}

/// A patch and the checksums that depend on it.
#[derive(Clone, Debug)]
struct LivePatch {
    patch: Patch,
    /// Contribution to the signed checksum.
    effect: Effect,
    /// A checksum that depends only on this patch, with the sum over its constant bytes.
    own: Option<(ChecksumOffset, u64, Effect)>,
}

impl LivePatch {
    /// Write the patch and its own checksum; return its word.
    #[inline(always)]
    fn apply(&self, frame: &mut [u8], sequence: u64) -> u64 {
        let word = self.patch.word(sequence);
        self.patch.write(frame, word);
        if let Some((offset, static_sum, effect)) = &self.own {
            offset.write(frame, static_sum + effect.contribution(word));
        }
        word
    }

    /// Same, for a value that is constant for `every` frames; return its contribution to the signed checksum.
    #[inline(always)]
    fn apply_cached(&self, frame: &mut [u8], sequence: u64, every: u64, value: &mut Value) -> u64 {
        if sequence.wrapping_sub(value.first) >= every {
            *value = self.value(sequence - sequence % every);
        }
        self.patch.write(frame, value.word);
        if let Some((offset, ..)) = &self.own {
            offset.write_field(frame, value.own);
        }
        value.signed
    }

    /// Compute the value from frame `first` on.
    #[inline(never)]
    fn value(&self, first: u64) -> Value {
        let word = self.patch.word(first);
        let own = self
            .own
            .as_ref()
            .map_or(0, |(offset, static_sum, effect)| offset.field(static_sum + effect.contribution(word)));
        Value { first, word, own, signed: self.effect.contribution(word) }
    }
}

/// A cached value of a patch.
#[derive(Clone, Debug)]
struct Value {
    /// First frame with this value.
    first: u64,
    word: u64,
    /// Checksum that depends only on this patch.
    own: u16,
    /// Contribution to the signed checksum.
    signed: u64,
}

/// State of a template between frames: the values shared by several consecutive frames.
#[derive(Clone, Debug)]
pub struct SlotState(Vec<Value>);

impl Template {
    /// Build a stream's frame of `frame_bytes`, with FCS.
    ///
    /// # Errors
    /// If headers do not follow each other, a number does not fit its field, or the frame is too small or too large.
    pub fn new(spec: &StreamSpec, frame_bytes: usize) -> Result<Self, WireError> {
        let stack = Stack::new(&spec.layers, spec.signature)?;
        let mut bytes = stack.emit(frame_bytes)?;
        let signature_offset = stack.bytes;
        match spec.signature {
            SignatureForm::Payload => Signature::emit_static(spec.stream_id, &mut bytes[signature_offset..]),
            SignatureForm::Headers => check_header_signature(spec)?,
        }
        let mut patches = Vec::new();
        for range in &spec.ranges {
            patches.extend(Patch::from_range(range, &stack, &bytes)?);
        }
        if patches.len() > PATCHES_MAX {
            return Err(WireError::Ranges { count: patches.len(), limit: PATCHES_MAX });
        }
        let words: Vec<u64> = patches.iter().map(|patch| patch.word(0)).collect();
        patches.iter().zip(&words).for_each(|(patch, word)| patch.write(&mut bytes, *word));
        let checksums = stack.checksums(&bytes);
        if spec.signature == SignatureForm::Headers && has_checksum_over(&bytes, &checksums, signature_offset - 1) {
            let problem =
                "would change the UDP checksum of an outer header; use IPv4 outside, or fewer headers".to_owned();
            return Err(WireError::HeaderSignature(problem));
        }
        let identity = Identity { stream_id: spec.stream_id, signature: spec.signature, offset: signature_offset };
        Ok(Self::assemble(bytes, identity, &checksums, patches, &words))
    }

    /// Build a template from a captured frame that contains a signature and has these checksums.
    pub(crate) fn from_frame(bytes: Vec<u8>, stream_id: u16, signature_offset: usize, checksums: &[Checksum]) -> Self {
        let identity = Identity { stream_id, signature: SignatureForm::Payload, offset: signature_offset };
        Self::assemble(bytes, identity, checksums, Vec::new(), &[])
    }

    /// Determine how checksums depend on signature and patches; `words` are those that the patches wrote.
    fn assemble(
        mut bytes: Vec<u8>,
        identity: Identity,
        checksums: &[Checksum],
        patches: Vec<Patch>,
        words: &[u64],
    ) -> Self {
        seal(&mut bytes, checksums);
        let probe = Probe::new(&bytes, checksums);
        let Identity { stream_id, signature, offset: signature_offset } = identity;
        let by_signature = probe.effects(match signature {
            SignatureForm::Payload => signature_offset + SIGNATURE_BYTES - 1,
            SignatureForm::Headers => signature_offset - HEADER_FIELDS_BYTES + 1,
        });
        let by_patches: Vec<_> = patches.iter().map(|patch| probe.effects(patch.end())).collect();
        let blank = |patch| LivePatch { patch, effect: Effect::default(), own: None };
        let mut patches: Vec<LivePatch> = patches.into_iter().map(blank).collect();
        let (mut signed, mut patched) = (None, Vec::new());
        for (index, checksum) in checksums.iter().enumerate() {
            let effects: Vec<Effect> = by_patches.iter().map(|effects| effects[index]).collect();
            let (offset, static_sum) = (checksum.offset, probe.static_sum(checksum, &effects, words));
            let some: Vec<_> = effects.iter().copied().enumerate().filter(|(_, effect)| effect.is_some()).collect();
            if by_signature[index].is_some() {
                signed = Some(SignedChecksum { offset, static_sum });
                patches.iter_mut().zip(effects).for_each(|(patch, effect)| patch.effect = effect);
            } else if let [(only, effect)] = some[..]
                && patches[only].own.is_none()
            {
                patches[only].own = Some((offset, static_sum, effect));
            } else if !some.is_empty() {
                patched.push(PatchedChecksum { offset, static_sum, effects: some });
            }
        }
        Self { bytes, stream_id, signature, signature_offset, patches, signed, patched }
    }

    /// Return the frame before completion: the required content of a buffer passed to [`Template::complete`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Return the stream's identifier.
    #[must_use]
    pub fn stream_id(&self) -> u16 {
        self.stream_id
    }

    /// Return the offset of the signature.
    #[must_use]
    pub fn signature_offset(&self) -> usize {
        self.signature_offset
    }

    /// Return the operations of [`Template::complete`] as a field program; None if a field uses a table, a checksum
    /// decreases as a covered field increases, or the signature is in headers.
    #[must_use]
    pub fn field_program(&self) -> Option<FieldProgram> {
        if self.signature == SignatureForm::Headers {
            return None;
        }
        let update = |offset: &ChecksumOffset, static_sum, covers_signature, effects: &[(usize, Effect)]| {
            effects.iter().all(|(_, effect)| effect.inverts == 0).then(|| ChecksumUpdate {
                at: usize::from(offset.at),
                static_sum,
                covers_signature,
                covers: effects.iter().filter(|(_, effect)| effect.is_some()).map(|(position, _)| *position).collect(),
                zero_is_none: offset.is_never_zero(),
            })
        };
        let mut checksums = Vec::new();
        if let Some(SignedChecksum { offset, static_sum }) = &self.signed {
            let effects: Vec<_> = self.patches.iter().map(|patch| patch.effect).enumerate().collect();
            checksums.push(update(offset, *static_sum, true, &effects)?);
        }
        for (position, patch) in self.patches.iter().enumerate() {
            if let Some((offset, static_sum, effect)) = &patch.own {
                checksums.push(update(offset, *static_sum, false, &[(position, *effect)])?);
            }
        }
        for PatchedChecksum { offset, static_sum, effects } in &self.patched {
            checksums.push(update(offset, *static_sum, false, effects)?);
        }
        let fields = self.patches.iter().map(|live| live.patch.counting_field()).collect::<Option<_>>()?;
        Some(FieldProgram { fields, checksums })
    }

    /// Return the initial state for [`Template::complete`].
    #[must_use]
    pub fn slot_state(&self) -> SlotState {
        SlotState(self.patches.iter().map(|patch| patch.value(0)).collect())
    }

    /// Turn a buffer that holds this template into frame `sequence` of the stream. `state` must be from this template.
    #[inline(always)]
    pub fn complete(&self, state: &mut SlotState, buffer: &mut [u8], sequence: u64, time_ns: u64, trial_tag: u8) {
        let signature = Signature { stream_id: self.stream_id, time_ns, trial_tag, sequence };
        let mut sum = match self.signature {
            SignatureForm::Payload => signature.emit_live(&mut buffer[self.signature_offset..]),
            SignatureForm::Headers => signature.emit_headers(buffer, self.signature_offset),
        };
        let sequence = signature.sequence();
        if self.patched.is_empty() {
            for (live, value) in self.patches.iter().zip(&mut state.0) {
                sum += match live.patch.every() {
                    None => live.effect.contribution(live.apply(buffer, sequence)),
                    Some(every) => live.apply_cached(buffer, sequence, every, value),
                };
            }
        } else {
            sum += self.complete_patched(buffer, sequence);
        }
        if let Some(signed) = &self.signed {
            signed.offset.write(buffer, signed.static_sum + sum);
        }
    }

    /// Write the patches and the checksums that depend on several of them; return their contribution to the signed
    /// checksum.
    #[inline(never)]
    fn complete_patched(&self, buffer: &mut [u8], sequence: u64) -> u64 {
        let (mut words, mut signed) = ([0; PATCHES_MAX], 0);
        for (live, word) in self.patches.iter().zip(&mut words) {
            *word = live.apply(buffer, sequence);
            signed += live.effect.contribution(*word);
        }
        for patched in &self.patched {
            let moving: u64 =
                patched.effects.iter().map(|(index, effect)| effect.contribution(words[index % PATCHES_MAX])).sum();
            patched.offset.write(buffer, patched.static_sum + moving);
        }
        signed
    }
}

/// Determines how checksums depend on bytes by changing these, without modeling how checksums cover each other.
pub(crate) struct Probe<'a> {
    frame: &'a [u8],
    checksums: &'a [Checksum],
}

impl<'a> Probe<'a> {
    /// Create a probe for a frame with correct checksums.
    pub(crate) fn new(frame: &'a [u8], checksums: &'a [Checksum]) -> Self {
        Self { frame, checksums }
    }

    /// Return a checksum's sum without the patches, whose words are in the frame now.
    fn static_sum(&self, checksum: &Checksum, effects: &[Effect], words: &[u64]) -> u64 {
        0xffff - u64::from(checksum.read(self.frame))
            + effects.iter().zip(words).map(|(effect, word)| effect.negated().contribution(*word)).sum::<u64>()
    }

    /// Return the contribution of the 16-bit word that ends at this byte to each checksum.
    pub(crate) fn effects(&self, at: usize) -> Vec<Effect> {
        let mut changed = self.frame.to_vec();
        changed[at] ^= 1;
        seal(&mut changed, self.checksums);
        let increased = changed[at] & 1 == 1;
        let effect = |checksum: &Checksum| {
            let word = |frame: &[u8]| u64::from(checksum.read(frame));
            // A checksum is the complement of its sum: one decreases as the other increases.
            match ((word(self.frame) + 0xffff - word(&changed)) % 0xffff, increased) {
                (0, _) => Effect::default(),
                (1, true) | (0xfffe, false) => Effect::ADDS,
                _ => Effect::SUBTRACTS,
            }
        };
        self.checksums.iter().map(effect).collect()
    }
}

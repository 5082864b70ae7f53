//! Fields of received frames: comparison with the values that the SUT must have written.

use nodrop_model::{Anchor, ArrivalField, ArrivalValues};

use crate::WireError;
use crate::patch::{deposit, draw};

/// Every frame whose number is a multiple of this is compared: a prime, so that in the course of a trial all values of
/// fields with a period are.
const SAMPLE_EVERY: u64 = 997;

/// The arrival fields of a stream.
#[derive(Clone, Debug)]
pub struct ArrivalCheck(Vec<CheckedField>);

#[derive(Clone, Debug)]
struct CheckedField {
    anchor: Anchor,
    offset: i32,
    width: usize,
    mask: u64,
    /// Values of consecutive frames; cyclic.
    words: Box<[u64]>,
}

impl ArrivalCheck {
    /// Prepare the comparison of these fields.
    ///
    /// # Errors
    /// If a field has no bytes or too many, or too many values.
    pub fn new(fields: &[ArrivalField]) -> Result<Self, WireError> {
        fields.iter().map(CheckedField::new).collect::<Result<_, String>>().map(Self).map_err(WireError::Arrival)
    }

    /// Return whether the frame with this number is part of the sample.
    #[inline]
    #[must_use]
    pub fn samples(sequence: u64) -> bool {
        sequence.is_multiple_of(SAMPLE_EVERY)
    }

    /// Return whether a frame with a signature at this offset has all required values.
    #[must_use]
    pub fn matches(&self, frame: &[u8], signature_at: usize, sequence: u64) -> bool {
        self.0.iter().all(|field| field.matches(frame, signature_at, sequence))
    }
}

impl CheckedField {
    fn new(field: &ArrivalField) -> Result<Self, String> {
        if !(1..=8).contains(&field.width) {
            return Err(format!("{} bytes are not comparable; use 1 to 8", field.width));
        }
        Ok(Self {
            anchor: field.anchor,
            offset: field.offset,
            width: field.width.into(),
            mask: field.mask,
            words: words(&field.values)?,
        })
    }

    fn matches(&self, frame: &[u8], signature_at: usize, sequence: u64) -> bool {
        let origin = if self.anchor == Anchor::Start { 0 } else { signature_at };
        let bytes = origin.checked_add_signed(self.offset as isize).and_then(|at| frame.get(at..at + self.width));
        let required = self.words[(sequence % self.words.len() as u64) as usize];
        bytes.is_some_and(|bytes| {
            let value = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            (value ^ required) & self.mask == 0
        })
    }
}

fn words(values: &ArrivalValues) -> Result<Box<[u64]>, String> {
    let words: Vec<u64> = match values {
        ArrivalValues::Constant { value } => vec![*value],
        ArrivalValues::Masked { first, count, span, seed, skip_bits, mask } => {
            let numbers = draw(u64::from(*count), *span, *seed)?.into_iter();
            numbers.map(|number| first.wrapping_add(deposit(shift(number, *skip_bits), *mask))).collect()
        }
        ArrivalValues::Table { entries, count, span, seed, skip_bits } if !entries.is_empty() => {
            let numbers = draw(u64::from(*count), *span, *seed)?.into_iter();
            numbers.map(|number| entries[(shift(number, *skip_bits) % entries.len() as u64) as usize]).collect()
        }
        ArrivalValues::Table { .. } => Vec::new(),
    };
    if words.is_empty() { Err("no values; use at least one".to_owned()) } else { Ok(words.into()) }
}

fn shift(number: u64, bits: u32) -> u64 {
    number.checked_shr(bits).unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn field(anchor: Anchor, offset: i32, width: u8, mask: u64, values: ArrivalValues) -> ArrivalField {
        ArrivalField { anchor, offset, width, mask, values }
    }

    #[test]
    fn a_frame_must_have_the_value_of_its_number() {
        let table = ArrivalValues::Table { entries: vec![0xaa, 0xbb], count: 8, span: 8, seed: 5, skip_bits: 1 };
        let masked = ArrivalValues::Masked { first: 1, count: 8, span: 8, seed: 5, skip_bits: 0, mask: 0b1010_1000 };
        let check = ArrivalCheck::new(&[
            field(Anchor::Start, 1, 1, 0xff, table),
            field(Anchor::Signature, -2, 2, 0x0fff, masked),
        ])
        .unwrap();
        for (sequence, number) in (0..).zip(draw(8, 8, 5).unwrap()) {
            let entry = if number >> 1 & 1 == 0 { 0xaa } else { 0xbb };
            let tag = 1 + (number & 1) * 8 + (number >> 1 & 1) * 32 + (number >> 2) * 128;
            let frame = [7, entry, 0, 0xf0, tag as u8, 1, 1];
            assert!(check.matches(&frame, 5, sequence), "{sequence}");
            assert!(check.matches(&frame, 5, sequence + 8));
            assert!(!check.matches(&[7, entry ^ 1, 0, 0xf0, tag as u8, 1, 1], 5, sequence));
            assert!(!check.matches(&[7, entry, 0, 0xf0, tag as u8 ^ 1, 1, 1], 5, sequence));
            assert!(!check.matches(&frame[..4], 5, sequence), "too short");
            assert!(!check.matches(&frame, 1, sequence), "the field would begin before the frame");
        }
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let constant = ArrivalValues::Constant { value: 0 };
        let empty = ArrivalValues::Table { entries: vec![], count: 1, span: 1, seed: 1, skip_bits: 0 };
        let many = ArrivalValues::Masked { first: 0, count: 9, span: 8, seed: 1, skip_bits: 0, mask: 1 };
        for (width, values, problem) in
            [(9, constant, "use 1 to 8"), (1, empty, "at least one"), (1, many, "widen the span")]
        {
            let error = ArrivalCheck::new(&[field(Anchor::Start, 0, width, 0, values)]).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn the_sample_has_one_in_a_thousand_frames_and_in_time_every_value() {
        assert!((1..997).all(|sequence| !ArrivalCheck::samples(sequence)));
        let mut values = vec![false; 65_536];
        for sequence in (0..65_536).map(|turn| turn * 997) {
            assert!(ArrivalCheck::samples(sequence));
            values[(sequence % 65_536) as usize] = true;
        }
        assert!(values.iter().all(|seen| *seen));
    }
}

//! Variable fields: the values they take and where they are written.

use std::net::{Ipv4Addr, Ipv6Addr};

use nodrop_model::{CountingField, Field, FieldLayout, FieldRange, FieldValue, FieldValues};

use crate::divisor::Divisor;
use crate::header::FieldPosition;
use crate::random;
use crate::stack::Stack;
use crate::{MacAddr, WireError};

/// Maximum number of values in a table.
const TABLE_MAX: usize = 1 << 20;

/// Sequence of words that a field's bytes cycle through.
#[derive(Clone, Debug)]
enum Words {
    Increment { first: u64, step: u64 },
    Table(Box<[u64]>),
}

impl Words {
    /// Duplicate a single word, because a divisor must be at least 2.
    fn duplicated(self) -> Self {
        match self {
            Self::Increment { first, .. } => Self::Increment { first, step: 0 },
            Self::Table(words) => Self::Table([words[0]; 2].into()),
        }
    }
}

/// A variable field.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    at: u16,
    width: u16,
    /// Number of frames after which the sequence restarts early.
    period: Option<Divisor>,
    /// Number of consecutive frames with the same value, if more than one.
    every: Option<Divisor>,
    count: Divisor,
    words: Words,
}

impl Patch {
    /// Create the patches of a range over `frame`: one, or two if both halves of an IPv6 address change.
    pub(crate) fn from_range(range: &FieldRange, stack: &Stack<'_>, frame: &[u8]) -> Result<Vec<Self>, WireError> {
        let error = |problem: String| WireError::Range { field: range.field, layer: range.layer, problem };
        let (start, header) = stack.layer(range.layer).ok_or_else(|| error("no such layer".to_owned()))?;
        let no_field = || error(format!("{} has no such variable field", header.name()));
        let position = header.field_position(range.field).ok_or_else(no_field)?;
        let target = FieldTarget { at: start + position.at, position, frame };
        let words = match &range.values {
            FieldValues::Increment { count, step } => target.increment(u64::from(*count), *step),
            FieldValues::List { values } => return target.list(values, range, header.name() == "ipv6").map_err(error),
            FieldValues::Random { count, span, seed } => target.random(u64::from(*count), *span, *seed),
            FieldValues::Masked { count, span, seed, skip_bits, mask } => {
                let numbers = draw(u64::from(*count), *span, *seed);
                numbers.and_then(|numbers| target.masked(&numbers, *skip_bits, *mask))
            }
        };
        let (count, words) = words.map_err(error)?;
        Ok(vec![target.patch(count, range, words).map_err(error)?])
    }

    /// Return the offset of its last byte.
    pub(crate) fn end(&self) -> usize {
        usize::from(self.at + self.width) - 1
    }

    /// Return the word with the value of frame `sequence`.
    #[inline(always)]
    pub(crate) fn word(&self, sequence: u64) -> u64 {
        let sequence = self.period.map_or(sequence, |period| period.remainder(sequence));
        let index = self.count.remainder(self.every.map_or(sequence, |every| every.quotient(sequence)));
        match &self.words {
            Words::Increment { first, step } => first + index * step,
            Words::Table(words) => words[index as usize],
        }
    }

    /// Return the number of consecutive frames with the same value, if more than one and constant.
    #[inline(always)]
    pub(crate) fn every(&self) -> Option<u64> {
        if self.period.is_some() { None } else { self.every.map(Divisor::value) }
    }

    /// Return the patch as a counting field; None if values come from a table or the sequence restarts early.
    pub(crate) fn counting_field(&self) -> Option<CountingField> {
        let (Words::Increment { first, step }, None) = (&self.words, self.period) else { return None };
        let (first, step) = (*first, *step);
        Some(CountingField {
            at: usize::from(self.at),
            width: usize::from(self.width),
            first,
            step,
            count: self.count.value(),
            every: self.every.map_or(1, Divisor::value),
        })
    }

    /// Return the patch's layout for other generators; `range` is the index of its range.
    pub(crate) fn layout(&self, range: usize, field: Field) -> FieldLayout {
        let (words, count) = match &self.words {
            Words::Increment { first, step } => {
                (nodrop_model::Words::Count { first: *first, step: *step }, self.count.value())
            }
            Words::Table(words) => (nodrop_model::Words::Table { words: words.to_vec() }, words.len() as u64),
        };
        FieldLayout {
            range,
            field,
            at: usize::from(self.at),
            width: usize::from(self.width),
            words,
            count,
            every: self.every.map_or(1, Divisor::value),
            period: self.period.map(Divisor::value),
        }
    }

    /// Write a word to the frame.
    #[inline(always)]
    pub(crate) fn write(&self, frame: &mut [u8], word: u64) {
        let at = usize::from(self.at);
        match self.width {
            2 => frame[at..at + 2].copy_from_slice(&(word as u16).to_be_bytes()),
            4 => frame[at..at + 4].copy_from_slice(&(word as u32).to_be_bytes()),
            6 => frame[at..at + 6].copy_from_slice(&word.to_be_bytes()[2..]),
            _ => frame[at..at + 8].copy_from_slice(&word.to_be_bytes()),
        }
    }
}

/// A field in a generated frame.
struct FieldTarget<'a> {
    at: usize,
    position: FieldPosition,
    frame: &'a [u8],
}

impl FieldTarget<'_> {
    /// Return the containing bytes as a number.
    fn word(&self) -> u64 {
        read(&self.frame[self.at..self.at + self.position.width])
    }

    fn largest(&self) -> u64 {
        u64::MAX >> (64 - self.position.bits)
    }

    /// Return the field's initial value.
    fn value(&self) -> u64 {
        self.word() >> self.position.shift & self.largest()
    }

    /// Return the containing bytes with another value in the field.
    fn word_with(&self, value: u64) -> u64 {
        self.word() & !(self.largest() << self.position.shift) | value << self.position.shift
    }

    /// Check that the last value fits the field.
    fn check_last(&self, steps: u64, step: u64) -> Result<(), String> {
        let last = u128::from(self.value()) + u128::from(steps) * u128::from(step);
        if last <= u128::from(self.largest()) {
            return Ok(());
        }
        Err(format!(
            "the last value {last:#x} does not fit {} bits; use a lower start or fewer values",
            self.position.bits
        ))
    }

    fn increment(&self, count: u64, step: u64) -> Result<(u64, Words), String> {
        self.check_last(count.saturating_sub(1), step)?;
        Ok((count, Words::Increment { first: self.word(), step: step << self.position.shift }))
    }

    fn random(&self, count: u64, span: u64, seed: u64) -> Result<(u64, Words), String> {
        let numbers = draw(count, span, seed)?;
        self.check_last(span.saturating_sub(1), 1)?;
        let words = numbers.into_iter().map(|number| self.word_with(self.value() + number)).collect();
        Ok((count, Words::Table(words)))
    }

    fn masked(&self, numbers: &[u64], skip_bits: u32, mask: u64) -> Result<(u64, Words), String> {
        self.check_last(mask, 1)?;
        let words = numbers
            .iter()
            .map(|number| self.word_with(self.value() + deposit(number.checked_shr(skip_bits).unwrap_or(0), mask)))
            .collect();
        Ok((numbers.len() as u64, Words::Table(words)))
    }

    fn list(&self, values: &[FieldValue], range: &FieldRange, is_v6: bool) -> Result<Vec<Patch>, String> {
        check_table(values.len())?;
        let numbers = values.iter().map(|value| number(value, range.field, is_v6)).collect::<Result<Vec<_>, _>>()?;
        let is_address = is_v6 && range.field != Field::FlowLabel;
        let bits = if is_address { 128 } else { self.position.bits };
        if let Some(value) = numbers.iter().find(|number| bits < 128 && **number >> bits != 0) {
            return Err(format!("value {value} does not fit {bits} bits"));
        }
        let count = values.len() as u64;
        let low = numbers.iter().map(|number| self.word_with(*number as u64)).collect();
        let mut patches = vec![self.patch(count, range, Words::Table(low))?];
        if is_address {
            let upper = FieldTarget { at: self.at - 8, position: self.position, frame: self.frame };
            let high: Box<[u64]> = numbers.iter().map(|number| (number >> 64) as u64).collect();
            if high.iter().any(|word| *word != upper.word()) {
                patches.push(upper.patch(count, range, Words::Table(high))?);
            }
        }
        Ok(patches)
    }

    fn patch(&self, count: u64, range: &FieldRange, words: Words) -> Result<Patch, String> {
        let every = u64::from(range.every);
        if count == 0 || every == 0 || count.saturating_mul(every) > Divisor::LARGEST {
            let limit = Divisor::LARGEST;
            return Err(format!(
                "{count} values for {every} frames each; both must be at least 1, and their product at most {limit}"
            ));
        }
        let period = range.period.map(u64::from).filter(|period| *period != count * every);
        if let Some(period) = period.filter(|period| !(2..=Divisor::LARGEST).contains(period)) {
            return Err(format!("period of {period} frames is out of range; use 2 to {}", Divisor::LARGEST));
        }
        // The divisor must be at least 2.
        let words = if count == 1 { words.duplicated() } else { words };
        Ok(Patch {
            at: self.at as u16,
            width: self.position.width as u16,
            period: period.map(Divisor::new),
            every: (every > 1).then(|| Divisor::new(every)),
            count: Divisor::new(count.max(2)),
            words,
        })
    }
}

/// Return distinct pseudo-random numbers.
pub(crate) fn draw(count: u64, span: u64, seed: u64) -> Result<Vec<u64>, String> {
    if span < count {
        return Err(format!("{count} distinct values do not fit a span of {span}; widen the span"));
    }
    check_table(count as usize)?;
    Ok(random::sample(count, span, seed))
}

/// Distribute the lowest bits of a number over the bits of a mask, the lowest to the lowest.
pub(crate) fn deposit(mut number: u64, mut mask: u64) -> u64 {
    let mut deposited = 0;
    while mask != 0 {
        let lowest = mask & mask.wrapping_neg();
        deposited |= if number & 1 == 1 { lowest } else { 0 };
        number >>= 1;
        mask ^= lowest;
    }
    deposited
}

fn check_table(count: usize) -> Result<(), String> {
    if count <= TABLE_MAX {
        Ok(())
    } else {
        Err(format!("{count} values are too many; use at most {TABLE_MAX}, or an increment"))
    }
}

fn read(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Convert a configured value to a number.
fn number(value: &FieldValue, field: Field, is_v6: bool) -> Result<u128, String> {
    let is_address = matches!(field, Field::Src | Field::Dst);
    match value {
        FieldValue::Number(number) if !is_address => Ok(u128::from(*number)),
        FieldValue::Address(text) if is_address && is_v6 => {
            text.parse::<Ipv6Addr>().map(u128::from).map_err(|_| format!("{text:?} is not an IPv6 address"))
        }
        FieldValue::Address(text) if is_address => text
            .parse::<Ipv4Addr>()
            .map(|address| u128::from(u32::from(address)))
            .or_else(|_| text.parse::<MacAddr>().map(|mac| u128::from(read(&mac.0))))
            .map_err(|_| format!("{text:?} is not an address of this layer")),
        FieldValue::Number(number) => Err(format!("{number} is a number; use an address")),
        FieldValue::Address(text) => Err(format!("{text:?} is text; use a number")),
    }
}

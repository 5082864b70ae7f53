//! A field that changes from frame to frame, ready to be written.

use std::net::{Ipv4Addr, Ipv6Addr};

use nodrop_model::{Field, FieldLayout, FieldRange, FieldValue, FieldValues};

use crate::changes::CountingField;
use crate::divisor::Divisor;
use crate::header::Place;
use crate::random;
use crate::stack::Stack;
use crate::{MacAddr, WireError};

/// Values kept in a table.
const TABLE_MAX: usize = 1 << 20;

/// The words a field's bytes take in turn.
#[derive(Clone, Debug)]
enum Words {
    Increment { first: u64, step: u64 },
    Table(Box<[u64]>),
}

impl Words {
    /// A single word as two that take turns.
    fn twice(self) -> Self {
        match self {
            Self::Increment { first, .. } => Self::Increment { first, step: 0 },
            Self::Table(words) => Self::Table([words[0]; 2].into()),
        }
    }
}

/// A field that changes from frame to frame.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    at: u16,
    width: u16,
    /// Frames after which it begins again before it has gone through.
    period: Option<Divisor>,
    /// Frames that each value stays for, if more than one.
    every: Option<Divisor>,
    count: Divisor,
    words: Words,
}

impl Patch {
    /// The patches of a range over `frame`: one, or two where both halves of an IPv6 address change.
    pub(crate) fn of(range: &FieldRange, stack: &Stack<'_>, frame: &[u8]) -> Result<Vec<Self>, WireError> {
        let wrong = |found: String| WireError::Range { field: range.field, layer: range.layer, found };
        let (start, header) = stack.layer(range.layer).ok_or_else(|| wrong("there is no such layer".to_owned()))?;
        let no_field = || wrong(format!("{} has no such field that can change", header.name()));
        let place = header.place(range.field).ok_or_else(no_field)?;
        let spot = Spot { at: start + place.at, place, frame };
        let words = match &range.values {
            FieldValues::Increment { count, step } => spot.increment(u64::from(*count), *step),
            FieldValues::List { values } => return spot.list(values, range, header.name() == "ipv6").map_err(wrong),
            FieldValues::Random { count, span, seed } => spot.random(u64::from(*count), *span, *seed),
        };
        let (count, words) = words.map_err(wrong)?;
        Ok(vec![spot.patch(count, range, words).map_err(wrong)?])
    }

    /// The last of its bytes.
    pub(crate) fn end(&self) -> usize {
        usize::from(self.at + self.width) - 1
    }

    /// The word that holds the value of frame `sequence`.
    #[inline(always)]
    pub(crate) fn word(&self, sequence: u64) -> u64 {
        let sequence = self.period.map_or(sequence, |period| period.remainder(sequence));
        let index = self.count.remainder(self.every.map_or(sequence, |every| every.quotient(sequence)));
        match &self.words {
            Words::Increment { first, step } => first + index * step,
            Words::Table(words) => words[index as usize],
        }
    }

    /// Frames that each value stays for, where they are several and always as many.
    #[inline(always)]
    pub(crate) fn every(&self) -> Option<u64> {
        if self.period.is_some() { None } else { self.every.map(Divisor::by) }
    }

    /// It as a field that counts; None where values come from a table, or begin again early.
    pub(crate) fn counting(&self) -> Option<CountingField> {
        let (Words::Increment { first, step }, None) = (&self.words, self.period) else { return None };
        let (first, step) = (*first, *step);
        Some(CountingField {
            at: usize::from(self.at),
            width: usize::from(self.width),
            first,
            step,
            count: self.count.by(),
            every: self.every.map_or(1, Divisor::by),
        })
    }

    /// It as others may write it; `range` is its range's position.
    pub(crate) fn layout(&self, range: usize, field: Field) -> FieldLayout {
        let (words, count) = match &self.words {
            Words::Increment { first, step } => {
                (nodrop_model::Words::Count { first: *first, step: *step }, self.count.by())
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
            every: self.every.map_or(1, Divisor::by),
            period: self.period.map(Divisor::by),
        }
    }

    /// Write the word of a value.
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

/// A field of a frame as it was built.
struct Spot<'a> {
    at: usize,
    place: Place,
    frame: &'a [u8],
}

impl Spot<'_> {
    /// The bytes that hold the field, as a number.
    fn word(&self) -> u64 {
        read(&self.frame[self.at..self.at + self.place.width])
    }

    fn largest(&self) -> u64 {
        u64::MAX >> (64 - self.place.bits)
    }

    /// The field's own value.
    fn value(&self) -> u64 {
        self.word() >> self.place.shift & self.largest()
    }

    /// The bytes with another value in the field.
    fn with(&self, value: u64) -> u64 {
        self.word() & !(self.largest() << self.place.shift) | value << self.place.shift
    }

    /// Refuse values that end beyond the field.
    fn check_last(&self, steps: u64, step: u64) -> Result<(), String> {
        let last = u128::from(self.value()) + u128::from(steps) * u128::from(step);
        if last <= u128::from(self.largest()) {
            return Ok(());
        }
        Err(format!("its last value {last:#x} needs more than {} bits; begin lower or take fewer", self.place.bits))
    }

    fn increment(&self, count: u64, step: u64) -> Result<(u64, Words), String> {
        self.check_last(count.saturating_sub(1), step)?;
        Ok((count, Words::Increment { first: self.word(), step: step << self.place.shift }))
    }

    fn random(&self, count: u64, span: u64, seed: u64) -> Result<(u64, Words), String> {
        if span < count {
            return Err(format!("{count} different values out of {span} asked; widen the span"));
        }
        check_table(count as usize)?;
        self.check_last(span.saturating_sub(1), 1)?;
        let numbers = random::sample(count, span, seed);
        let words = numbers.into_iter().map(|number| self.with(self.value() + number)).collect();
        Ok((count, Words::Table(words)))
    }

    fn list(&self, values: &[FieldValue], range: &FieldRange, is_v6: bool) -> Result<Vec<Patch>, String> {
        check_table(values.len())?;
        let numbers = values.iter().map(|value| number(value, range.field, is_v6)).collect::<Result<Vec<_>, _>>()?;
        let is_address = is_v6 && range.field != Field::FlowLabel;
        let bits = if is_address { 128 } else { self.place.bits };
        if let Some(long) = numbers.iter().find(|number| bits < 128 && **number >> bits != 0) {
            return Err(format!("value {long} needs more than {bits} bits"));
        }
        let count = values.len() as u64;
        let low = numbers.iter().map(|number| self.with(*number as u64)).collect();
        let mut patches = vec![self.patch(count, range, Words::Table(low))?];
        if is_address {
            let upper = Spot { at: self.at - 8, place: self.place, frame: self.frame };
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
            let most = Divisor::LARGEST;
            return Err(format!(
                "{count} values, each for {every} frames; both at least 1, their product at most {most}"
            ));
        }
        let period = range.period.map(u64::from).filter(|period| *period != count * every);
        if let Some(wrong) = period.filter(|period| !(2..=Divisor::LARGEST).contains(period)) {
            return Err(format!("it begins again after {wrong} frames; from 2 to {} can be", Divisor::LARGEST));
        }
        // There is no dividing by one.
        let words = if count == 1 { words.twice() } else { words };
        Ok(Patch {
            at: self.at as u16,
            width: self.place.width as u16,
            period: period.map(Divisor::new),
            every: (every > 1).then(|| Divisor::new(every)),
            count: Divisor::new(count.max(2)),
            words,
        })
    }
}

fn check_table(count: usize) -> Result<(), String> {
    if count <= TABLE_MAX { Ok(()) } else { Err(format!("{count} values; at most {TABLE_MAX}, or an increment")) }
}

fn read(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// A value as it was written, as a number.
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
        FieldValue::Number(number) => Err(format!("{number} is a number; write an address")),
        FieldValue::Address(text) => Err(format!("{text:?} is text; write a number")),
    }
}

//! The signature after the last header: 18 bytes, all that fits a 64-byte UDP/IPv4 frame.
//!
//! ```text
//!  0        4        6              12       13            18
//!  | magic  | stream | send time ns | trial  | sequence    |
//! ```
//!
//! Send time is the low 48 bits of the wall clock in nanoseconds (they wrap every 78 hours); the sequence number has 40
//! bits; the trial tag distinguishes late frames of an earlier trial from the current one's.

use crate::checksum;

/// LengthField of the signature.
pub const SIGNATURE_BYTES: usize = 18;

const MAGIC: [u8; 4] = *b"nDr1";
const TIME_BITS: u32 = 48;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
const SEQUENCE_MASK: u64 = (1 << 40) - 1;

/// Identity of a test frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Stream of the frame.
    pub stream_id: u16,
    /// Low 48 bits of the send time.
    pub time_ns: u64,
    /// Trial that sent the frame, modulo 256.
    pub trial_tag: u8,
    /// Position in the stream, from 0, modulo 2^40.
    pub sequence: u64,
}

impl Signature {
    /// The first four bytes as a big-endian number, for packet filters.
    pub const MAGIC_WORD: u32 = u32::from_be_bytes(MAGIC);

    /// Return the sequence number as on the wire.
    #[inline]
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence & SEQUENCE_MASK
    }

    /// Return trial tag and sequence number as the 48-bit value on the wire.
    pub(crate) fn tail(&self) -> u64 {
        u64::from(self.trial_tag) << 40 | self.sequence()
    }

    /// Return the time field as the 48-bit value on the wire.
    pub(crate) fn time(&self) -> u64 {
        self.time_ns & TIME_MASK
    }

    /// Write the fields that are constant during a trial, and zeros for the others.
    pub(crate) fn emit_static(stream_id: u16, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&MAGIC);
        payload[4..6].copy_from_slice(&stream_id.to_be_bytes());
        payload[6..SIGNATURE_BYTES].fill(0);
    }

    /// Write the fields that change with every frame; return the sum of their words.
    #[inline(always)]
    pub(crate) fn emit_live(&self, payload: &mut [u8]) -> u64 {
        let payload = &mut payload[..SIGNATURE_BYTES];
        let (time, tail) = (self.time(), self.tail());
        let (first, last) = (time << 16 | tail >> 32, tail as u32);
        payload[6..14].copy_from_slice(&first.to_be_bytes());
        payload[14..18].copy_from_slice(&last.to_be_bytes());
        checksum::sum64(first) + u64::from(last)
    }

    /// Parse the signature of a frame at the first of these offsets that has one; return the offset too.
    #[inline]
    #[must_use]
    pub fn find(frame: &[u8], offsets: &[usize]) -> Option<(Self, usize)> {
        offsets.iter().find_map(|offset| Some((Self::parse(frame.get(*offset..)?)?, *offset)))
    }

    /// Parse a signature; return None if there is none.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIGNATURE_BYTES] = payload.get(..SIGNATURE_BYTES)?.try_into().ok()?;
        if bytes[..4] != MAGIC {
            return None;
        }
        let word48 = |at: usize| bytes[at..at + 6].iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        let tail = word48(12);
        Some(Self {
            stream_id: u16::from_be_bytes([bytes[4], bytes[5]]),
            time_ns: word48(6),
            trial_tag: (tail >> 40) as u8,
            sequence: tail & SEQUENCE_MASK,
        })
    }
}

/// Return the nanoseconds from a 48-bit send time to a full receive time; negative if the clock was set back in
/// between.
#[must_use]
pub fn wrapping_elapsed_ns(received_ns: u64, sent_low48_ns: u64) -> i64 {
    let unused = 64 - TIME_BITS;
    (received_ns.wrapping_sub(sent_low48_ns) << unused) as i64 >> unused
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Signature =
        Signature { stream_id: 0xabcd, time_ns: 0x1234_5678_9abc, trial_tag: 0xfe, sequence: 0xff_ffff_fffe };

    #[test]
    fn what_is_written_is_read_back() {
        let mut payload = [0xee; 20];
        Signature::emit_static(FRAME.stream_id, &mut payload);
        FRAME.emit_live(&mut payload);
        assert_eq!(Signature::parse(&payload), Some(FRAME));
        assert_eq!(payload[18..], [0xee; 2]);
    }

    #[test]
    fn frames_without_the_magic_or_cut_short_are_not_ours() {
        let mut payload = [0; SIGNATURE_BYTES];
        Signature::emit_static(1, &mut payload);
        assert_eq!(Signature::parse(&payload[..17]), None);
        payload[0] ^= 1;
        assert_eq!(Signature::parse(&payload), None);
    }

    #[test]
    fn elapsed_time_survives_the_48_bit_wrap_and_shows_a_clock_set_back() {
        let sent = 0x7_ffff_ffff_ff00u64;
        assert_eq!(wrapping_elapsed_ns(sent + 0x200, sent & TIME_MASK), 0x200);
        assert_eq!(wrapping_elapsed_ns(sent - 0x200, sent & TIME_MASK), -0x200);
    }
}

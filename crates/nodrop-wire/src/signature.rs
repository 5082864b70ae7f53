//! The signature after the last header: 18 bytes, all that fits a 64-byte UDP/IPv4 frame.
//!
//! ```text
//!  0        4        6              12       13            18
//!  | magic  | stream | send time ns | trial  | sequence    |
//! ```
//!
//! A frame without space for it may carry a signature in the fields of its last two headers instead, IPv4 and UDP:
//!
//! ```text
//! IPv4 identification | UDP source port | UDP destination port  | UDP length, checksum
//! sequence, low bits  | high bits       | 11, trial (6), stream | 8, none
//! ```
//!
//! Such a datagram has no payload and no checksum, which identifies it; it has no send time.
//!
//! Send time is the low 48 bits of the wall clock in nanoseconds (they wrap every 78 hours); the sequence number has 40
//! bits; the trial tag distinguishes late frames of an earlier trial from the current one's.

use nodrop_model::SignatureForm;

use crate::checksum;

/// LengthField of the signature.
pub const SIGNATURE_BYTES: usize = 18;

const MAGIC: [u8; 4] = *b"nDr1";
const TIME_BITS: u32 = 48;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
const SEQUENCE_MASK: u64 = (1 << 40) - 1;

/// Length of an empty UDP datagram, and a checksum of zero: none.
const EMPTY_DATAGRAM: [u8; 4] = [0, 8, 0, 0];
/// First bits of the destination port of a signature in headers: a dynamic port (RFC 6335).
const DYNAMIC_PORT: u16 = 0xc000;
/// Trial tags that are distinguished: a signature in headers has six bits for them.
pub const TRIAL_TAGS: u8 = 64;
/// Bytes of IPv4 and UDP from the identification on, which hold a signature in headers.
pub(crate) const HEADER_FIELDS_BYTES: usize = 24;
/// Offset of UDP among them.
const UDP_AT: usize = 16;
/// Highest stream id of a signature in headers.
pub(crate) const HEADER_STREAM_MAX: u16 = 0xff;

/// Bytes by which packet filters recognize test frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Four bytes as a big-endian number.
    pub word: u32,
    /// Distance from the word to the offset of the signature.
    pub before: usize,
}

/// Identity of a test frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Stream of the frame.
    pub stream_id: u16,
    /// Low 48 bits of the send time; zero in headers.
    pub time_ns: u64,
    /// Trial that sent the frame, modulo [`TRIAL_TAGS`].
    pub trial_tag: u8,
    /// Position in the stream, from 0, modulo 2^40, in headers 2^32.
    pub sequence: u64,
}

impl Signature {
    /// Return the bytes that identify a signature of this form.
    #[must_use]
    pub const fn mark(form: SignatureForm) -> Mark {
        match form {
            SignatureForm::Payload => Mark { word: u32::from_be_bytes(MAGIC), before: 0 },
            SignatureForm::Headers => Mark { word: u32::from_be_bytes(EMPTY_DATAGRAM), before: EMPTY_DATAGRAM.len() },
        }
    }

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

    /// Write the signature to the last two headers, which end at `end`; return the sum of the words that the checksum
    /// of IPv4 covers.
    #[inline]
    pub(crate) fn emit_headers(&self, frame: &mut [u8], end: usize) -> u64 {
        let fields = &mut frame[end - HEADER_FIELDS_BYTES..end];
        let identification = self.sequence as u16;
        fields[..2].copy_from_slice(&identification.to_be_bytes());
        fields[UDP_AT..UDP_AT + 2].copy_from_slice(&((self.sequence >> 16) as u16).to_be_bytes());
        let port = DYNAMIC_PORT | u16::from(self.trial_tag % TRIAL_TAGS) << 8 | self.stream_id & HEADER_STREAM_MAX;
        fields[UDP_AT + 2..UDP_AT + 4].copy_from_slice(&port.to_be_bytes());
        u64::from(identification)
    }

    /// Parse the signature of a frame at the first of these offsets that has one; return the offset too.
    #[inline]
    #[must_use]
    pub fn find(frame: &[u8], form: SignatureForm, offsets: &[usize]) -> Option<(Self, usize)> {
        let parse = |offset: usize| match form {
            SignatureForm::Payload => Self::parse(frame.get(offset..)?),
            SignatureForm::Headers => Self::parse_headers(frame.get(..offset)?),
        };
        offsets.iter().find_map(|offset| Some((parse(*offset)?, *offset)))
    }

    /// Parse the signature in the last two headers; return None if there is none.
    #[must_use]
    pub fn parse_headers(headers: &[u8]) -> Option<Self> {
        let fields: &[u8; HEADER_FIELDS_BYTES] = headers.last_chunk()?;
        let word = |at: usize| u16::from_be_bytes([fields[at], fields[at + 1]]);
        let port = word(UDP_AT + 2);
        if fields[UDP_AT + 4..] != EMPTY_DATAGRAM || port & DYNAMIC_PORT != DYNAMIC_PORT {
            return None;
        }
        Some(Self {
            stream_id: port & HEADER_STREAM_MAX,
            time_ns: 0,
            trial_tag: (port >> 8) as u8 % TRIAL_TAGS,
            sequence: u64::from(word(UDP_AT)) << 16 | u64::from(word(0)),
        })
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
    fn a_signature_in_headers_is_read_back_and_others_are_not_ours() {
        let written = Signature { stream_id: 0xab, time_ns: 0, trial_tag: 63, sequence: 0xfedc_ba98 };
        let mut headers = [0xee; 30];
        headers[26..].copy_from_slice(&EMPTY_DATAGRAM);
        assert_eq!(written.emit_headers(&mut headers, 30), 0xba98);
        assert_eq!(Signature::parse_headers(&headers), Some(written));
        assert_eq!(headers[..6], [0xee; 6]);
        assert_eq!(headers[8..22], [0xee; 14]);
        assert_eq!(Signature::find(&headers, SignatureForm::Headers, &[31, 30]), Some((written, 30)));
        assert_eq!(Signature::find(&headers, SignatureForm::Payload, &[0, 30]), None);
        for (at, byte) in [(27, 9), (29, 1), (24, 0x80)] {
            let mut other = headers;
            other[at] = byte;
            assert_eq!(Signature::parse_headers(&other), None, "byte {at}");
        }
        assert_eq!(Signature::parse_headers(&headers[7..]), None, "too short");
    }

    #[test]
    fn elapsed_time_survives_the_48_bit_wrap_and_shows_a_clock_set_back() {
        let sent = 0x7_ffff_ffff_ff00u64;
        assert_eq!(wrapping_elapsed_ns(sent + 0x200, sent & TIME_MASK), 0x200);
        assert_eq!(wrapping_elapsed_ns(sent - 0x200, sent & TIME_MASK), -0x200);
    }
}

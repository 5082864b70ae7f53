//! A stack of headers as bytes: put together, and its checksums computed from what is there.

use std::ops::Range;

use nodrop_model::Layer;

use crate::header::{self, Around, ChecksumField, Cover, Header, misplaced};
use crate::signature::SIGNATURE_BYTES;
use crate::{FCS_BYTES, WireError, checksum};

/// The smallest frame, with FCS (IEEE 802.3 clause 4.4.2).
pub(crate) const SMALLEST_FRAME_BYTES: usize = 64;
/// The largest frame, with FCS.
pub(crate) const LARGEST_FRAME_BYTES: usize = 9216;

/// A checksum of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checksum {
    pub(crate) spot: ChecksumSpot,
    /// What it covers.
    begin: usize,
    end: usize,
    /// The pseudo header: addresses from and to, protocol.
    pseudo: Option<(usize, usize, u8)>,
}

/// Where a checksum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChecksumSpot {
    pub(crate) at: u16,
    /// What is sent for a computed zero: all ones where zero means that there is none (RFC 768).
    zero: u16,
}

impl Checksum {
    /// Of a field at `at` over these bytes and a pseudo header.
    pub(crate) fn of(at: usize, over: Range<usize>, pseudo: Option<(usize, usize, u8)>, zero_is_none: bool) -> Self {
        let zero = if zero_is_none { 0xffff } else { 0 };
        Self { spot: ChecksumSpot { at: at as u16, zero }, begin: over.start, end: over.end, pseudo }
    }

    /// Compute it from all it covers, and write it.
    fn seal(&self, frame: &mut [u8]) {
        self.spot.put(frame, 0);
        let pseudo = self.pseudo.map_or(0, |(begin, end, protocol)| {
            checksum::sum(&frame[begin..end]) + u64::from(protocol) + (self.end - self.begin) as u64
        });
        self.spot.write(frame, pseudo + checksum::sum(&frame[self.begin..self.end]));
    }

    /// The field as it is.
    pub(crate) fn read(&self, frame: &[u8]) -> u16 {
        let at = usize::from(self.spot.at);
        u16::from_be_bytes([frame[at], frame[at + 1]])
    }
}

impl ChecksumSpot {
    /// Write the field for a sum over all it covers.
    #[inline(always)]
    pub(crate) fn write(&self, frame: &mut [u8], sum: u64) {
        self.put(frame, self.field(sum));
    }

    /// The field for a sum over all it covers.
    #[inline(always)]
    pub(crate) fn field(&self, sum: u64) -> u16 {
        let computed = checksum::finish(sum);
        if computed == 0 { self.zero } else { computed }
    }

    /// Whether a computed zero is sent as something else.
    pub(crate) fn is_never_zero(&self) -> bool {
        self.zero != 0
    }

    /// Write the field.
    #[inline(always)]
    pub(crate) fn put(&self, frame: &mut [u8], field: u16) {
        let at = usize::from(self.at);
        frame[at..at + 2].copy_from_slice(&field.to_be_bytes());
    }
}

/// Compute all checksums; of nested packets the inner ones first, since the outer ones cover them.
pub(crate) fn seal(frame: &mut [u8], checksums: &[Checksum]) {
    checksums.iter().rev().for_each(|checksum| checksum.seal(frame));
}

/// Headers and where they are in a frame.
#[derive(Debug)]
pub(crate) struct Stack<'a> {
    layers: &'a [Layer],
    starts: Vec<usize>,
    /// Length of all headers.
    pub(crate) bytes: usize,
}

impl<'a> Stack<'a> {
    /// Headers one after the other.
    pub(crate) fn new(layers: &'a [Layer]) -> Result<Self, WireError> {
        if !matches!(layers.first(), Some(Layer::Ethernet(_))) {
            return Err(misplaced("the wire", layers.first()));
        }
        let (mut starts, mut bytes) = (Vec::with_capacity(layers.len()), 0);
        for layer in layers {
            starts.push(bytes);
            bytes += header::of(layer).bytes();
        }
        Ok(Self { layers, starts, bytes })
    }

    /// The smallest frame, with FCS, that holds them and the signature.
    pub(crate) fn smallest_frame_bytes(&self) -> usize {
        SMALLEST_FRAME_BYTES.max(self.bytes + SIGNATURE_BYTES + FCS_BYTES)
    }

    /// Where a layer begins, and its header.
    pub(crate) fn layer(&self, index: usize) -> Option<(usize, &'a dyn Header)> {
        Some((*self.starts.get(index)?, header::of(&self.layers[index])))
    }

    /// A frame of that size, padded with zeros, its checksums zero.
    pub(crate) fn emit(&self, frame_bytes: usize) -> Result<Vec<u8>, WireError> {
        self.emit_from(self.smallest_frame_bytes(), frame_bytes)
    }

    /// The same without room for a signature.
    pub(crate) fn emit_unsigned(&self, frame_bytes: usize) -> Result<Vec<u8>, WireError> {
        self.emit_from(SMALLEST_FRAME_BYTES.max(self.bytes + FCS_BYTES), frame_bytes)
    }

    fn emit_from(&self, smallest: usize, frame_bytes: usize) -> Result<Vec<u8>, WireError> {
        if frame_bytes < smallest {
            return Err(WireError::TooSmall { asked: frame_bytes, smallest });
        }
        if frame_bytes > LARGEST_FRAME_BYTES {
            return Err(WireError::TooLarge { asked: frame_bytes, largest: LARGEST_FRAME_BYTES });
        }
        let frame_len = frame_bytes - FCS_BYTES;
        let mut frame = Vec::with_capacity(frame_len);
        for (index, layer) in self.layers.iter().enumerate() {
            header::of(layer).emit(&mut frame, &self.around(index, frame_len))?;
        }
        frame.resize(frame_len, 0);
        Ok(frame)
    }

    /// The checksums of a frame that [`Stack::emit`] gave, outermost first.
    pub(crate) fn checksums(&self, frame: &[u8]) -> Vec<Checksum> {
        let of = |index: usize| {
            let field = header::of(&self.layers[index]).checksum(&self.around(index, frame.len()))?;
            Some(self.checksum(index, field, frame))
        };
        (0..self.layers.len()).filter_map(of).collect()
    }

    /// Whether a layer has a checksum in a frame of that length, without FCS.
    pub(crate) fn has_checksum(&self, index: usize, frame_len: usize) -> bool {
        header::of(&self.layers[index]).checksum(&self.around(index, frame_len)).is_some()
    }

    fn checksum(&self, index: usize, field: ChecksumField, frame: &[u8]) -> Checksum {
        let begin = self.starts[index];
        let end = match field.cover {
            Cover::Header => begin + header::of(&self.layers[index]).bytes(),
            Cover::Packet | Cover::PseudoAndPacket => self.packet_end(index, frame.len()),
        };
        let pseudo = (field.cover == Cover::PseudoAndPacket).then(|| match self.layers[index - 1] {
            Layer::Ipv6(_) => (begin - 32, begin, frame[begin - 34]),
            _ => (begin - 8, begin, frame[begin - 11]),
        });
        Checksum::of(begin + field.at, begin..end, pseudo, field.zero_is_none)
    }

    fn around(&self, index: usize, frame_len: usize) -> Around<'a> {
        let end = self.starts[index] + header::of(&self.layers[index]).bytes();
        Around {
            previous: index.checked_sub(1).map(|previous| &self.layers[previous]),
            next: self.layers.get(index + 1),
            payload_bytes: self.packet_end(index, frame_len) - end,
        }
    }

    /// Where the packet that a layer begins ends: with the frame, but for neighbour discovery with its message, since
    /// nothing but options may follow in there.
    fn packet_end(&self, index: usize, frame_len: usize) -> usize {
        let holds_nd = index + 2 >= self.layers.len() && matches!(self.layers.last(), Some(Layer::Nd(_)));
        if holds_nd { self.bytes } else { frame_len }
    }
}

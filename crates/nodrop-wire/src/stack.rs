//! A stack of headers as bytes, and its checksums.

use std::ops::Range;

use nodrop_model::{Layer, SignatureForm};

use crate::header::{self, ChecksumField, Context, Coverage, Header, order_error};
use crate::signature::SIGNATURE_BYTES;
use crate::{FCS_BYTES, WireError, checksum};

/// The smallest frame, with FCS (IEEE 802.3 clause 4.4.2).
pub(crate) const SMALLEST_FRAME_BYTES: usize = 64;
/// The largest frame, with FCS.
pub(crate) const LARGEST_FRAME_BYTES: usize = 9216;

/// A checksum of a frame and the bytes it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checksum {
    pub(crate) offset: ChecksumOffset,
    /// Covered bytes.
    begin: usize,
    end: usize,
    /// Pseudo header: start and end of the addresses, and the protocol.
    pseudo: Option<(usize, usize, u8)>,
}

/// Offset of a checksum field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChecksumOffset {
    pub(crate) at: u16,
    /// Value sent for a computed zero: all ones if zero means "no checksum" (RFC 768).
    zero: u16,
}

impl Checksum {
    /// Create a checksum at offset `at` over `over` and a pseudo header.
    pub(crate) fn new(at: usize, over: Range<usize>, pseudo: Option<(usize, usize, u8)>, zero_is_none: bool) -> Self {
        let zero = if zero_is_none { 0xffff } else { 0 };
        Self { offset: ChecksumOffset { at: at as u16, zero }, begin: over.start, end: over.end, pseudo }
    }

    /// Compute the checksum over the covered bytes and write it.
    fn seal(&self, frame: &mut [u8]) {
        self.offset.write_field(frame, 0);
        let pseudo = self.pseudo.map_or(0, |(begin, end, protocol)| {
            checksum::sum(&frame[begin..end]) + u64::from(protocol) + (self.end - self.begin) as u64
        });
        self.offset.write(frame, pseudo + checksum::sum(&frame[self.begin..self.end]));
    }

    /// Read the checksum field.
    pub(crate) fn read(&self, frame: &[u8]) -> u16 {
        let at = usize::from(self.offset.at);
        u16::from_be_bytes([frame[at], frame[at + 1]])
    }
}

impl ChecksumOffset {
    /// Write the field for a sum over the covered bytes.
    #[inline(always)]
    pub(crate) fn write(&self, frame: &mut [u8], sum: u64) {
        self.write_field(frame, self.field(sum));
    }

    /// Return the field for a sum over the covered bytes.
    #[inline(always)]
    pub(crate) fn field(&self, sum: u64) -> u16 {
        let computed = checksum::finish(sum);
        if computed == 0 { self.zero } else { computed }
    }

    /// Return true if a computed zero is sent as another value.
    pub(crate) fn is_never_zero(&self) -> bool {
        self.zero != 0
    }

    /// Write the field as is.
    #[inline(always)]
    pub(crate) fn write_field(&self, frame: &mut [u8], field: u16) {
        let at = usize::from(self.at);
        frame[at..at + 2].copy_from_slice(&field.to_be_bytes());
    }
}

/// Compute all checksums; inner ones first, because outer ones cover them.
pub(crate) fn seal(frame: &mut [u8], checksums: &[Checksum]) {
    checksums.iter().rev().for_each(|checksum| checksum.seal(frame));
}

/// Headers and their offsets in a frame.
#[derive(Debug)]
pub(crate) struct Stack<'a> {
    layers: &'a [Layer],
    signature: SignatureForm,
    starts: Vec<usize>,
    /// LengthField of all headers, in bytes.
    pub(crate) bytes: usize,
}

impl<'a> Stack<'a> {
    /// Arrange headers one after the other, with a signature behind or in them.
    pub(crate) fn new(layers: &'a [Layer], signature: SignatureForm) -> Result<Self, WireError> {
        if !matches!(layers.first(), Some(Layer::Ethernet(_))) {
            return Err(order_error("the wire", layers.first()));
        }
        let (mut starts, mut bytes) = (Vec::with_capacity(layers.len()), 0);
        for layer in layers {
            starts.push(bytes);
            bytes += header::for_layer(layer).bytes();
        }
        if signature == SignatureForm::Headers && !matches!(layers, [.., Layer::Ipv4(_), Layer::Udp(_)]) {
            return Err(WireError::HeaderSignature("must end with ipv4 and udp; change layers".to_owned()));
        }
        Ok(Self { layers, signature, starts, bytes })
    }

    /// Return the size of the smallest frame, with FCS, that fits headers and signature.
    pub(crate) fn smallest_frame_bytes(&self) -> usize {
        let payload_bytes = match self.signature {
            SignatureForm::Payload => SIGNATURE_BYTES,
            SignatureForm::Headers => 0,
        };
        SMALLEST_FRAME_BYTES.max(self.bytes + payload_bytes + FCS_BYTES)
    }

    /// Return the offset of a layer and its header.
    pub(crate) fn layer(&self, index: usize) -> Option<(usize, &'a dyn Header)> {
        Some((*self.starts.get(index)?, header::for_layer(&self.layers[index])))
    }

    /// Build a frame of that size, padded with zeros, with zero checksums.
    pub(crate) fn emit(&self, frame_bytes: usize) -> Result<Vec<u8>, WireError> {
        self.emit_from(self.smallest_frame_bytes(), frame_bytes)
    }

    /// Build a frame without space for a signature.
    pub(crate) fn emit_unsigned(&self, frame_bytes: usize) -> Result<Vec<u8>, WireError> {
        self.emit_from(SMALLEST_FRAME_BYTES.max(self.bytes + FCS_BYTES), frame_bytes)
    }

    fn emit_from(&self, smallest: usize, frame_bytes: usize) -> Result<Vec<u8>, WireError> {
        if frame_bytes < smallest {
            return Err(WireError::TooSmall { requested: frame_bytes, smallest });
        }
        if frame_bytes > LARGEST_FRAME_BYTES {
            return Err(WireError::TooLarge { requested: frame_bytes, largest: LARGEST_FRAME_BYTES });
        }
        let frame_len = frame_bytes - FCS_BYTES;
        let mut frame = Vec::with_capacity(frame_len);
        for (index, layer) in self.layers.iter().enumerate() {
            header::for_layer(layer).emit(&mut frame, &self.context(index, frame_len))?;
        }
        frame.resize(frame_len, 0);
        Ok(frame)
    }

    /// Return the checksums of a frame built by [`Stack::emit`], outermost first.
    pub(crate) fn checksums(&self, frame: &[u8]) -> Vec<Checksum> {
        // A signature in headers identifies itself by a datagram without checksum.
        let end = self.layers.len() - usize::from(self.signature == SignatureForm::Headers);
        let checksum = |index: usize| {
            let field = header::for_layer(&self.layers[index]).checksum(&self.context(index, frame.len()))?;
            Some(self.checksum(index, field, frame))
        };
        (0..end).filter_map(checksum).collect()
    }

    /// Return true if a layer has a checksum in a frame of that length, without FCS.
    pub(crate) fn has_checksum(&self, index: usize, frame_len: usize) -> bool {
        header::for_layer(&self.layers[index]).checksum(&self.context(index, frame_len)).is_some()
    }

    fn checksum(&self, index: usize, field: ChecksumField, frame: &[u8]) -> Checksum {
        let begin = self.starts[index];
        let end = match field.cover {
            Coverage::Header => begin + header::for_layer(&self.layers[index]).bytes(),
            Coverage::Packet | Coverage::PseudoAndPacket => self.packet_end(index, frame.len()),
        };
        let pseudo = (field.cover == Coverage::PseudoAndPacket).then(|| match self.layers[index - 1] {
            Layer::Ipv6(_) => (begin - 32, begin, frame[begin - 34]),
            _ => (begin - 8, begin, frame[begin - 11]),
        });
        Checksum::new(begin + field.at, begin..end, pseudo, field.zero_is_none)
    }

    fn context(&self, index: usize, frame_len: usize) -> Context<'a> {
        let end = self.starts[index] + header::for_layer(&self.layers[index]).bytes();
        Context {
            previous: index.checked_sub(1).map(|previous| &self.layers[previous]),
            next: self.layers.get(index + 1),
            payload_bytes: self.packet_end(index, frame_len) - end,
        }
    }

    /// Return the end of the packet that a layer begins: the end of the frame, but for neighbor discovery the end of
    /// its message, because only options may follow, and with a signature in headers the end of these.
    fn packet_end(&self, index: usize, frame_len: usize) -> usize {
        let holds_nd = index + 2 >= self.layers.len() && matches!(self.layers.last(), Some(Layer::Nd(_)));
        if holds_nd || self.signature == SignatureForm::Headers { self.bytes } else { frame_len }
    }
}

//! Operations that complete a frame, for senders that generate frames from a program instead of templates.

/// A field that counts: `first + step * (sequence / every % count)`, in network byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountingField {
    /// Offset in the frame.
    pub at: usize,
    /// Length in bytes.
    pub width: usize,
    /// First value.
    pub first: u64,
    /// Difference between consecutive values.
    pub step: u64,
    /// Number of values, at least one.
    pub count: u64,
    /// Number of consecutive frames with the same value, at least one.
    pub every: u64,
}

/// An Internet checksum (RFC 1071) that must be updated in every frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChecksumUpdate {
    /// Offset in the frame.
    pub at: usize,
    /// Sum over the constant bytes.
    pub static_sum: u64,
    /// Whether it covers the variable part of the signature.
    pub covers_signature: bool,
    /// Indices of the fields that it covers.
    pub covers: Vec<usize>,
    /// Zero means "no checksum", so a computed zero is sent as all ones (RFC 768).
    pub zero_is_none: bool,
}

/// All variable parts of a stream's frame, except for its signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldProgram {
    /// Fields that count.
    pub fields: Vec<CountingField>,
    /// Checksums over the fields and the signature.
    pub checksums: Vec<ChecksumUpdate>,
}

//! What changes from frame to frame, for senders that complete frames by themselves.

/// A field that counts: `first + step * (sequence / every % count)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountingField {
    /// Where in the frame.
    pub at: usize,
    /// In bytes.
    pub width: usize,
    /// The bytes of the first value, as a number.
    pub first: u64,
    /// From value to value.
    pub step: u64,
    /// Values.
    pub count: u64,
    /// Frames with the same value.
    pub every: u64,
}

/// A checksum that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowingChecksum {
    /// Where in the frame.
    pub at: usize,
    /// Its sum over everything that never changes.
    pub static_sum: u64,
    /// Whether it covers the signature's live fields.
    pub covers_signature: bool,
    /// Positions of the fields it covers.
    pub covers: Vec<usize>,
    /// A computed zero is sent as all ones.
    pub zero_is_none: bool,
}

/// All that [`crate::Template::complete`] does to a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Fields that count.
    pub fields: Vec<CountingField>,
    /// Checksums over them and over the signature.
    pub checksums: Vec<FollowingChecksum>,
}

//! A frame in a forwarder.

/// A buffer for one frame, without FCS, with headroom for headers that a forwarder adds.
#[derive(Clone, Debug)]
pub struct FrameBuffer {
    memory: Box<[u8]>,
    start: usize,
    end: usize,
}

/// Length of the two addresses at the start of a frame.
const ADDRESSES_BYTES: usize = 12;
/// Length of a VLAN tag.
const TAG_BYTES: usize = 4;
/// Room for headers to add: the longest are GRE with a key over IPv4 over MPLS, which replace two VLAN tags.
const HEADROOM_BYTES: usize = 24;
/// EtherType of a frame with a VLAN tag (IEEE 802.1Q table 9-1).
const TAGGED: [u8; 2] = [0x81, 0x00];
/// Bits of a tag's control information that contain the VLAN id (IEEE 802.1Q clause 9.6).
const VLAN_BITS: u16 = 0x0fff;

impl FrameBuffer {
    /// Minimum capacity, for frames of the forwarder itself: the longest is a neighbor solicitation with 86 bytes.
    const CAPACITY_MIN: usize = 128;

    /// Create an empty buffer for frames of up to `frame_bytes`.
    #[must_use]
    pub fn new(frame_bytes: usize) -> Self {
        let memory = vec![0; HEADROOM_BYTES + frame_bytes.max(Self::CAPACITY_MIN)].into_boxed_slice();
        Self { memory, start: HEADROOM_BYTES, end: HEADROOM_BYTES }
    }

    /// Create a buffer with a copy of `frame`.
    #[must_use]
    pub fn from_frame(frame: &[u8]) -> Self {
        let mut buffer = Self::new(frame.len());
        buffer.load(frame);
        buffer
    }

    /// Copy `frame` into the buffer; return false if it is too long.
    #[inline]
    pub fn load(&mut self, frame: &[u8]) -> bool {
        let fits = HEADROOM_BYTES + frame.len() <= self.memory.len();
        if fits {
            (self.start, self.end) = (HEADROOM_BYTES, HEADROOM_BYTES + frame.len());
            self.memory[HEADROOM_BYTES..self.end].copy_from_slice(frame);
        }
        fits
    }

    /// Return the frame.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// Return the frame for modification.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.end]
    }

    /// Write destination and source address.
    #[inline]
    pub fn set_addresses(&mut self, dst: [u8; 6], src: [u8; 6]) {
        let at = self.start;
        self.memory[at..at + 6].copy_from_slice(&dst);
        self.memory[at + 6..at + ADDRESSES_BYTES].copy_from_slice(&src);
    }

    /// Return the bytes at `at`, if the frame is long enough.
    #[inline]
    #[must_use]
    pub fn read<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes().get(at..at + N)?.try_into().ok()
    }

    /// Remove everything behind the first `length` bytes of a longer frame.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        self.end = self.end.min(self.start + length);
    }

    /// Replace the first `length` bytes of the frame by `header`, at most 24 bytes longer in a buffer just loaded.
    #[inline]
    pub fn replace_header(&mut self, length: usize, header: &[u8]) {
        let payload = self.start + length;
        self.start = payload - header.len();
        self.memory[self.start..payload].copy_from_slice(header);
    }

    /// Return the VLAN of the outermost tag, if any.
    #[inline]
    #[must_use]
    pub fn vlan(&self) -> Option<u16> {
        let [a, b, high, low] = self.read(ADDRESSES_BYTES)?;
        ([a, b] == TAGGED).then(|| u16::from_be_bytes([high, low]) & VLAN_BITS)
    }

    /// Remove the outermost tag of a tagged frame.
    #[inline]
    pub fn remove_tag(&mut self) {
        let at = self.start;
        self.memory.copy_within(at..at + ADDRESSES_BYTES, at + TAG_BYTES);
        self.start += TAG_BYTES;
    }

    /// Insert a tag into a frame without one, or whose tag was removed.
    #[inline]
    pub fn insert_tag(&mut self, vlan: u16) {
        let at = self.start - TAG_BYTES;
        self.memory.copy_within(self.start..self.start + ADDRESSES_BYTES, at);
        self.memory[at + ADDRESSES_BYTES..at + ADDRESSES_BYTES + 2].copy_from_slice(&TAGGED);
        self.memory[at + ADDRESSES_BYTES + 2..at + ADDRESSES_BYTES + TAG_BYTES].copy_from_slice(&vlan.to_be_bytes());
        self.start = at;
    }
}

//! A frame on its way through a forwarder.

/// Room for one frame, without FCS, and in front of it for the VLAN tag that it may get.
#[derive(Clone, Debug)]
pub struct FrameBuffer {
    room: Box<[u8]>,
    start: usize,
    end: usize,
}

/// Of the two addresses that a frame begins with.
const ADDRESSES_BYTES: usize = 12;
/// Of a VLAN tag.
const TAG_BYTES: usize = 4;
/// Type of a frame with a VLAN tag (IEEE 802.1Q table 9-1).
const TAGGED: [u8; 2] = [0x81, 0x00];
/// Bits of a tag's control information that are the VLAN's id (IEEE 802.1Q clause 9.6).
const VLAN_BITS: u16 = 0x0fff;

impl FrameBuffer {
    /// Room for what the forwarder itself says: a neighbour solicitation is the longest, 86 bytes.
    const LEAST_ROOM: usize = 128;

    /// An empty buffer for frames of up to `frame_bytes`.
    #[must_use]
    pub fn new(frame_bytes: usize) -> Self {
        let room = vec![0; TAG_BYTES + frame_bytes.max(Self::LEAST_ROOM)].into_boxed_slice();
        Self { room, start: TAG_BYTES, end: TAG_BYTES }
    }

    /// A buffer that holds this frame.
    #[must_use]
    pub fn holding(frame: &[u8]) -> Self {
        let mut buffer = Self::new(frame.len());
        buffer.hold(frame);
        buffer
    }

    /// Take a copy of `frame`, or tell that it is too long.
    #[inline]
    pub fn hold(&mut self, frame: &[u8]) -> bool {
        let fits = TAG_BYTES + frame.len() <= self.room.len();
        if fits {
            (self.start, self.end) = (TAG_BYTES, TAG_BYTES + frame.len());
            self.room[TAG_BYTES..self.end].copy_from_slice(frame);
        }
        fits
    }

    /// The frame.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.room[self.start..self.end]
    }

    /// The frame, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.start..self.end]
    }

    /// Destination and source address.
    #[inline]
    pub fn address(&mut self, dst: [u8; 6], src: [u8; 6]) {
        let at = self.start;
        self.room[at..at + 6].copy_from_slice(&dst);
        self.room[at + 6..at + ADDRESSES_BYTES].copy_from_slice(&src);
    }

    /// The bytes at `at`, where the frame is that long.
    #[inline]
    #[must_use]
    pub fn read<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes().get(at..at + N)?.try_into().ok()
    }

    /// The VLAN of a frame's outermost tag, if it has one.
    #[inline]
    #[must_use]
    pub fn vlan(&self) -> Option<u16> {
        let [a, b, high, low] = self.read(ADDRESSES_BYTES)?;
        ([a, b] == TAGGED).then(|| u16::from_be_bytes([high, low]) & VLAN_BITS)
    }

    /// Take the outermost tag out of a frame that has one.
    #[inline]
    pub fn untag(&mut self) {
        let at = self.start;
        self.room.copy_within(at..at + ADDRESSES_BYTES, at + TAG_BYTES);
        self.start += TAG_BYTES;
    }

    /// Put a tag into a frame that came without one of its own, or lost it here.
    #[inline]
    pub fn tag(&mut self, vlan: u16) {
        let at = self.start - TAG_BYTES;
        self.room.copy_within(self.start..self.start + ADDRESSES_BYTES, at);
        self.room[at + ADDRESSES_BYTES..at + ADDRESSES_BYTES + 2].copy_from_slice(&TAGGED);
        self.room[at + ADDRESSES_BYTES + 2..at + ADDRESSES_BYTES + TAG_BYTES].copy_from_slice(&vlan.to_be_bytes());
        self.start = at;
    }
}

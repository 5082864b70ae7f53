//! A frame on its way through a forwarder.

/// Room for one frame, without FCS.
#[derive(Clone, Debug)]
pub struct FrameBuffer {
    room: Box<[u8]>,
    len: usize,
}

impl FrameBuffer {
    /// Room for what the forwarder itself says: a neighbour solicitation is the longest, 86 bytes.
    const LEAST_ROOM: usize = 128;

    /// An empty buffer for frames of up to `frame_bytes`.
    #[must_use]
    pub fn new(frame_bytes: usize) -> Self {
        Self { room: vec![0; frame_bytes.max(Self::LEAST_ROOM)].into_boxed_slice(), len: 0 }
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
        let fits = frame.len() <= self.room.len();
        if fits {
            self.room[..frame.len()].copy_from_slice(frame);
            self.len = frame.len();
        }
        fits
    }

    /// The frame.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.room[..self.len]
    }

    /// The frame, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.room[..self.len]
    }

    /// Destination and source address.
    #[inline]
    pub fn address(&mut self, dst: [u8; 6], src: [u8; 6]) {
        self.room[..6].copy_from_slice(&dst);
        self.room[6..12].copy_from_slice(&src);
    }

    /// The bytes at `at`, where the frame is that long.
    #[inline]
    #[must_use]
    pub fn read<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes().get(at..at + N)?.try_into().ok()
    }
}

//! UDP (RFC 768).

/// The header; the checksum is left zero for the template to fill, since it changes with every frame.
#[derive(Clone, Copy, Debug)]
pub struct Udp {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Bytes that follow the header.
    pub payload_bytes: u16,
}

impl Udp {
    /// Header length.
    pub const BYTES: usize = 8;

    /// Append the header.
    pub fn emit(&self, frame: &mut Vec<u8>) {
        frame.extend_from_slice(&self.src_port.to_be_bytes());
        frame.extend_from_slice(&self.dst_port.to_be_bytes());
        frame.extend_from_slice(&(Self::BYTES as u16 + self.payload_bytes).to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
    }
}

//! IPv4 without options (RFC 791 section 3.1).

use std::net::Ipv4Addr;

use crate::checksum;

/// The header; its checksum is computed when it is written.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4 {
    /// Source.
    pub src: Ipv4Addr,
    /// Destination.
    pub dst: Ipv4Addr,
    /// Protocol of what follows.
    pub protocol: u8,
    /// Bytes that follow the header.
    pub payload_bytes: u16,
}

impl Ipv4 {
    /// Header length.
    pub const BYTES: usize = 20;
    /// Protocol number of UDP.
    pub const UDP: u8 = 17;
    const TTL: u8 = 64;
    const DONT_FRAGMENT: u16 = 0x4000;

    /// Append the header.
    pub fn emit(&self, frame: &mut Vec<u8>) {
        let start = frame.len();
        let total = Self::BYTES as u16 + self.payload_bytes;
        frame.extend_from_slice(&[0x45, 0]);
        frame.extend_from_slice(&total.to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
        frame.extend_from_slice(&Self::DONT_FRAGMENT.to_be_bytes());
        frame.extend_from_slice(&[Self::TTL, self.protocol, 0, 0]);
        frame.extend_from_slice(&self.src.octets());
        frame.extend_from_slice(&self.dst.octets());
        let checksum = checksum::finish(checksum::sum(&frame[start..]));
        frame[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
    }

    /// The part of the pseudo header that depends on this header (RFC 768), as an unfolded sum.
    #[must_use]
    pub fn pseudo_sum(&self) -> u64 {
        checksum::sum(&self.src.octets())
            + checksum::sum(&self.dst.octets())
            + u64::from(self.protocol)
            + u64::from(self.payload_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_its_checksum_sums_to_all_ones() {
        let mut frame = Vec::new();
        let header = Ipv4 {
            src: Ipv4Addr::new(198, 18, 0, 1),
            dst: Ipv4Addr::new(198, 19, 0, 1),
            protocol: 17,
            payload_bytes: 26,
        };
        header.emit(&mut frame);
        assert_eq!(frame.len(), Ipv4::BYTES);
        assert_eq!(checksum::finish(checksum::sum(&frame)), 0);
        assert_eq!(u16::from_be_bytes([frame[2], frame[3]]), 46);
    }
}

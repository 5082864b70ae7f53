//! IPv4 headers of packets to forward (RFC 1812 section 5.2).

use std::net::Ipv4Addr;

use nodrop_wire::checksum;

use crate::Cause;

/// Length of a header without options.
pub(crate) const HEADER_BYTES: usize = 20;
/// Offset of DSCP and ECN.
const SERVICE: usize = 1;
const ECN_BITS: u8 = 0x03;
const TTL: usize = 8;
const CHECKSUM: usize = 10;

/// The fields of a valid header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ipv4Header {
    /// Length of the header with options.
    pub(crate) header_bytes: usize,
    /// Length of the packet; padding may follow.
    pub(crate) total_bytes: usize,
    /// Whether the packet is part of a larger one.
    pub(crate) is_fragment: bool,
    pub(crate) ttl: u8,
    pub(crate) protocol: u8,
    pub(crate) dst: Ipv4Addr,
}

impl Ipv4Header {
    /// Validate the header of a packet and return its fields. Source: RFC 1812 section 5.2.2.
    #[inline]
    pub(crate) fn parse(packet: &[u8]) -> Result<Self, Cause> {
        let Some(header) = packet.first_chunk::<HEADER_BYTES>() else { return Err(Cause::Malformed) };
        let header_bytes = usize::from(header[0] & 0x0f) * 4;
        let total_bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if header[0] >> 4 != 4
            || header_bytes < HEADER_BYTES
            || total_bytes < header_bytes
            || total_bytes > packet.len()
        {
            return Err(Cause::Malformed);
        }
        if checksum::finish(checksum::sum(&packet[..header_bytes])) != 0 {
            return Err(Cause::BadChecksum);
        }
        Ok(Self {
            header_bytes,
            total_bytes,
            // Either more fragments follow, or the offset is not zero.
            is_fragment: [header[6] & 0x3f, header[7]] != [0, 0],
            ttl: header[TTL],
            protocol: header[9],
            dst: Ipv4Addr::new(header[16], header[17], header[18], header[19]),
        })
    }
}

/// Decrement the TTL and update the checksum.
#[inline]
pub(crate) fn decrement_ttl(packet: &mut [u8]) {
    update_byte(packet, TTL, |ttl| ttl - 1);
}

/// Write the DSCP (RFC 2474 section 3) and update the checksum; a packet without a whole header is left as it is.
pub(crate) fn set_dscp(packet: &mut [u8], dscp: u8) {
    if packet.len() >= HEADER_BYTES {
        update_byte(packet, SERVICE, |service| dscp << 2 | service & ECN_BITS);
    }
}

/// Change a byte of the header and update the checksum incrementally. Source: RFC 1624 equation 3.
#[inline]
fn update_byte(packet: &mut [u8], at: usize, change: impl Fn(u8) -> u8) {
    let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at & !1], packet[at | 1]]);
    let before = word(packet, at);
    packet[at] = change(packet[at]);
    let after = word(packet, at);
    let sum = u64::from(!word(packet, CHECKSUM)) + u64::from(!before) + u64::from(after);
    packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum::finish(sum).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_follows_a_decremented_ttl_whatever_it_was() {
        for last in 0..=u16::MAX {
            let mut header = [0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 19, 0, 0];
            header[18..].copy_from_slice(&last.to_be_bytes());
            let sum = checksum::finish(checksum::sum(&header));
            header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
            decrement_ttl(&mut header);
            assert_eq!(header[TTL], 63);
            assert_eq!(checksum::finish(checksum::sum(&header)), 0, "{header:?}");
        }
    }
}

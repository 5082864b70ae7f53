//! Integrity of a frame's content: the UDP checksum in front of the signature.

use crate::checksum;

const UDP_PROTOCOL: u8 = 17;
const UDP_BYTES: usize = 8;
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;

/// Return false if the UDP datagram that contains the signature is complete in `frame`, has a checksum, and does not
/// match it.
///
/// Return true also if that cannot be decided: the frame is truncated, or is not UDP over IP. A SUT that rewrites
/// addresses or ports has to update the checksum, so its frames are intact; changes below IP are not covered.
///
/// Source: RFC 768, RFC 8200 section 8.1 (pseudo headers).
#[must_use]
#[inline]
pub fn is_intact(frame: &[u8], signature_offset: usize) -> bool {
    let Some(udp_offset) = signature_offset.checked_sub(UDP_BYTES) else { return true };
    let Some(addresses) = addresses(frame, udp_offset) else { return true };
    let word = |at: usize| frame.get(at..at + 2).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
    let (length, sum) = (word(udp_offset + 4), word(udp_offset + 6));
    let Some(datagram) = frame.get(udp_offset..udp_offset + usize::from(length)) else { return true };
    if sum == 0 || usize::from(length) < UDP_BYTES {
        return true;
    }
    let pseudo = checksum::sum(addresses) + u64::from(UDP_PROTOCOL) + u64::from(length);
    checksum::finish(pseudo + checksum::sum(datagram)) == 0
}

/// Return source and destination address of the IP header directly before `udp_offset`.
#[inline]
fn addresses(frame: &[u8], udp_offset: usize) -> Option<&[u8]> {
    let ipv4 = frame.get(udp_offset.checked_sub(IPV4_BYTES)?..udp_offset)?;
    if ipv4[0] == 0x45 && ipv4[9] == UDP_PROTOCOL {
        return Some(&ipv4[12..20]);
    }
    let ipv6 = frame.get(udp_offset.checked_sub(IPV6_BYTES)?..udp_offset)?;
    (ipv6[0] >> 4 == 6 && ipv6[6] == UDP_PROTOCOL).then(|| &ipv6[8..40])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNATURE: usize = 42;

    /// A hand-written frame with a checksum computed by hand.
    fn ipv4_frame() -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        frame.extend([0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 19, 0, 1]);
        frame.extend([0xc0, 0, 0, 9, 0, 12, 0, 0, 1, 2, 3, 4]);
        // 198.18.0.1 + 198.19.0.1 + 17 + 12 + ports + length + payload, by hand: 0xc612 + 1 + 0xc613 + 1 + 0x11 + 0xc +
        // 0xc000 + 9 + 0xc + 0x0102 + 0x0304 = 0x2505f -> 0x5061; its complement is 0xaf9e.
        frame[40..42].copy_from_slice(&[0xaf, 0x9e]);
        frame
    }

    #[test]
    fn a_datagram_as_it_was_sent_is_intact_and_one_flipped_bit_is_found() {
        let frame = ipv4_frame();
        assert!(is_intact(&frame, SIGNATURE));
        for at in (26..34).chain(34..46).filter(|at| ![38, 39].contains(at)) {
            for bit in 0..8 {
                let mut damaged = frame.clone();
                damaged[at] ^= 1 << bit;
                assert!(!is_intact(&damaged, SIGNATURE), "byte {at} bit {bit}");
            }
        }
    }

    #[test]
    fn a_router_may_change_what_is_below_and_padding_may_follow() {
        let mut frame = ipv4_frame();
        (frame[0], frame[22]) = (9, 63);
        frame.extend([0xee; 14]);
        assert!(is_intact(&frame, SIGNATURE));
    }

    #[test]
    fn unverifiable_frames_count_as_intact() {
        let mut frame = ipv4_frame();
        assert!(is_intact(&frame[..45], SIGNATURE));
        assert!(is_intact(&frame, 7) && is_intact(&frame, 400) && is_intact(&[], SIGNATURE));
        (frame[40], frame[41], frame[44]) = (0, 0, 0xff);
        assert!(is_intact(&frame, SIGNATURE));
        let tcp = {
            let mut frame = ipv4_frame();
            frame[23] = 6;
            frame[45] ^= 1;
            frame
        };
        assert!(is_intact(&tcp, SIGNATURE));
    }

    #[test]
    fn over_ipv6_the_longer_addresses_count() {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd];
        frame.extend([0x60, 0, 0, 0, 0, 12, 17, 64]);
        frame.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        frame.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        frame.extend([0xc0, 0, 0, 9, 0, 12, 0, 0, 1, 2, 3, 4]);
        let sum = 2 * (0x2001u32 + 0x0db8) + 3 + 17 + 12 + 0xc000 + 9 + 12 + 0x0102 + 0x0304;
        let folded = (sum & 0xffff) + (sum >> 16);
        frame[60..62].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        assert!(is_intact(&frame, 62));
        frame[38] ^= 4;
        assert!(!is_intact(&frame, 62));
    }
}

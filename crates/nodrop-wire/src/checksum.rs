//! The Internet checksum (RFC 1071), kept as an unfolded sum so that parts can be added in any order.

/// Sum of the big-endian 16-bit words of `bytes`; an odd last byte counts as the high half of a word.
#[must_use]
pub fn sum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(2);
    let total: u64 = words.by_ref().map(|w| u64::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    total + words.remainder().first().map_or(0, |&b| u64::from(b) << 8)
}

/// Sum of the lower three 16-bit words of a value that starts on an even offset.
#[inline]
#[must_use]
pub fn sum48(value: u64) -> u64 {
    (value >> 32 & 0xffff) + (value >> 16 & 0xffff) + (value & 0xffff)
}

/// Sum of the four 16-bit words of a 64-bit value that starts on an even offset.
#[inline]
#[must_use]
pub fn sum64(value: u64) -> u64 {
    (value >> 48) + sum48(value)
}

/// The checksum field for a sum: folded to 16 bits and complemented.
#[inline]
#[must_use]
pub fn finish(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_section_3() {
        assert_eq!(finish(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), !0xddf2);
    }

    #[test]
    fn an_odd_byte_is_padded_with_zero() {
        assert_eq!(sum(&[1, 2, 3]), sum(&[1, 2, 3, 0]));
    }

    #[test]
    fn a_48_bit_value_sums_as_its_bytes() {
        let value: u64 = 0x1234_5678_9abc;
        assert_eq!(sum48(value), sum(&value.to_be_bytes()[2..]));
    }
}

//! The Internet checksum (RFC 1071), kept as an unfolded sum so that parts can be added in any order.

/// Return the sum of the big-endian 16-bit words of `bytes`; an odd last byte counts as the high half of a word.
#[must_use]
pub fn sum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(2);
    let total: u64 = words.by_ref().map(|w| u64::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    total + words.remainder().first().map_or(0, |&b| u64::from(b) << 8)
}

/// Return a sum of 32-bit words equivalent to the sum of the 16-bit words of `value`, which starts on an even offset:
/// modulo 0xffff, 2^16 equals 1.
#[inline]
#[must_use]
pub fn sum64(value: u64) -> u64 {
    (value >> 32) + (value & 0xffff_ffff)
}

/// Return the checksum field for a sum: folded to 16 bits and complemented.
#[inline]
#[must_use]
pub fn finish(sum: u64) -> u16 {
    // Adding a number to itself with swapped halves yields the sum of both halves in the upper half, carry included.
    let folded = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    !(folded.wrapping_add(folded.rotate_left(16)) >> 16) as u16
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
    fn a_64_bit_value_sums_as_its_bytes() {
        for value in [0x1234_5678_9abc_def0u64, 1, u64::MAX, u64::MAX << 16, 0xffff_0001] {
            assert_eq!(finish(sum64(value)), finish(sum(&value.to_be_bytes())));
        }
    }

    #[test]
    fn any_sum_folds_to_what_is_left_of_it() {
        for sum in (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, u64::MAX >> bit, u64::MAX << bit]) {
            assert_eq!(u64::from(!finish(sum)) % 0xffff, sum % 0xffff, "{sum:#x}");
            assert_eq!(!finish(sum) == 0, sum == 0, "{sum:#x}");
        }
    }
}

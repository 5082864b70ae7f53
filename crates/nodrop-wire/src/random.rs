//! Distinct pseudo-random numbers, reproducible by seed.

use std::collections::HashSet;

/// Generator by Steele, Lea and Flood (2014).
struct SplitMix64(u64);

impl SplitMix64 {
    /// Return a number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(bits ^ bits >> 31) * u128::from(end)) >> 64) as u64
    }
}

/// Return `count` distinct numbers below `span`, which must be at least `count`.
#[must_use]
pub fn sample(count: u64, span: u64, seed: u64) -> Vec<u64> {
    let mut generator = SplitMix64(seed);
    let mut drawn = HashSet::new();
    // Floyd's sampling algorithm: all numbers are equally likely.
    let mut pick = |last: u64| {
        let picked = generator.below(last + 1);
        if drawn.insert(picked) {
            return picked;
        }
        drawn.insert(last);
        last
    };
    let mut numbers: Vec<u64> = (span - count..span).map(&mut pick).collect();
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, generator.below(last as u64 + 1) as usize);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_differ_lie_in_the_span_and_depend_on_the_seed_alone() {
        for (count, span) in [(1, 1), (10, 10), (1000, 1 << 40), (5, u64::MAX)] {
            let numbers = sample(count, span, 7);
            assert_eq!(numbers.iter().collect::<HashSet<_>>().len() as u64, count);
            assert!(numbers.iter().all(|number| *number < span));
            assert_eq!(numbers, sample(count, span, 7));
        }
        assert_ne!(sample(10, 10, 1), sample(10, 10, 2));
        assert_ne!(sample(100, 100, 1), (0..100).collect::<Vec<_>>());
    }
}

//! Random numbers from a seed, reproducible on any machine.

/// Return number `index` of the SplitMix64 sequence of `seed` (Steele, Lea, Flood, OOPSLA 2014).
pub(crate) fn number(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add((index.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Return a number uniformly distributed above 0 and up to 1.
pub(crate) fn share(seed: u64, index: u64) -> f64 {
    ((number(seed, index) >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// Return `count` loads uniformly distributed from 1 - a to 1 + a; none is zero.
pub(crate) fn loads(count: usize, amplitude_ratio: f64, seed: u64) -> Vec<f64> {
    let load = |index: u64| 1.0 - amplitude_ratio + 2.0 * amplitude_ratio * share(seed, index);
    (0..count as u64).map(load).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of the published splitmix64.c for seed 1234567.
    #[test]
    fn the_sequence_is_the_published_one() {
        let numbers: Vec<u64> = (0..3).map(|index| number(1_234_567, index)).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}

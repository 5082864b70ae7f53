//! A policer: the bandwidth profile of one flow after MEF 10, as two token buckets. Pure.
//!
//! All arithmetic is exact. Tokens are counted in billionths of a bit, since a rate in bits per second times a time in
//! nanoseconds is a whole number of these.

/// Tokens of a byte: 8 bits of a billion each.
const TOKENS_PER_BYTE: u128 = 8_000_000_000;

/// Color of a frame, which is its conformance to a bandwidth profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Within the committed information rate.
    Green,
    /// Within the excess information rate.
    Yellow,
    /// Within neither; to be dropped.
    Red,
}

/// A bandwidth profile: rates in bits per second, counted from destination MAC address to FCS, and sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandwidthProfile {
    /// Committed information rate, CIR.
    pub cir_bps: u64,
    /// Committed burst size, CBS.
    pub cbs_bytes: u64,
    /// Excess information rate, EIR.
    pub eir_bps: u64,
    /// Excess burst size, EBS.
    pub ebs_bytes: u64,
    /// Coupling flag, CF: tokens that overflow the committed bucket go to the excess bucket.
    pub is_coupled: bool,
}

/// The token buckets of a bandwidth profile, full at first.
///
/// Arrival times decide, so the result is exact however late the frames are read.
#[derive(Clone, Debug)]
pub struct Policer {
    committed: TokenBucket,
    excess: TokenBucket,
    is_coupled: bool,
    last_ns: u64,
}

impl Policer {
    /// Create a policer with full buckets.
    #[must_use]
    pub fn new(profile: &BandwidthProfile) -> Self {
        Self {
            committed: TokenBucket::new(profile.cir_bps, profile.cbs_bytes),
            excess: TokenBucket::new(profile.eir_bps, profile.ebs_bytes),
            is_coupled: profile.is_coupled,
            last_ns: 0,
        }
    }

    /// Return the color of a frame of this length, FCS included, that arrived at this time, in nanoseconds.
    ///
    /// `color` is its color on arrival; a color-blind policer takes every frame as green. Source: MEF 10.2 section
    /// 7.11.1.
    pub fn classify(&mut self, frame_bytes: usize, color: Color, time_ns: u64) -> Color {
        let elapsed_ns = time_ns.saturating_sub(self.last_ns);
        self.last_ns = self.last_ns.max(time_ns);
        let overflow = self.committed.fill(elapsed_ns, 0);
        self.excess.fill(elapsed_ns, if self.is_coupled { overflow } else { 0 });
        if color == Color::Green && self.committed.take(frame_bytes) {
            Color::Green
        } else if color != Color::Red && self.excess.take(frame_bytes) {
            Color::Yellow
        } else {
            Color::Red
        }
    }
}

/// A bucket that fills at a constant rate and overflows at its size.
#[derive(Clone, Debug)]
struct TokenBucket {
    /// Tokens per nanosecond.
    rate: u128,
    tokens_max: u128,
    tokens: u128,
}

impl TokenBucket {
    fn new(rate_bps: u64, size_bytes: u64) -> Self {
        let tokens_max = u128::from(size_bytes) * TOKENS_PER_BYTE;
        Self { rate: u128::from(rate_bps), tokens_max, tokens: tokens_max }
    }

    /// Add the tokens of this time and some more; return those that overflow.
    fn fill(&mut self, elapsed_ns: u64, more: u128) -> u128 {
        let filled = self.tokens.saturating_add(self.rate * u128::from(elapsed_ns)).saturating_add(more);
        self.tokens = filled.min(self.tokens_max);
        filled - self.tokens
    }

    /// Take the tokens of a frame if there are enough.
    fn take(&mut self, frame_bytes: usize) -> bool {
        let rest = self.tokens.checked_sub(frame_bytes as u128 * TOKENS_PER_BYTE);
        self.tokens = rest.unwrap_or(self.tokens);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;
    /// One service: CIR 1 Mb/s, EIR 0.5 Mb/s, buckets of 25 frames of 500 bytes.
    const SERVICE: BandwidthProfile = BandwidthProfile {
        cir_bps: 1_000_000,
        cbs_bytes: 12_500,
        eir_bps: 500_000,
        ebs_bytes: 12_500,
        is_coupled: false,
    };

    /// Colors of frames of 1000 bytes with these colors and arrival times in seconds, at a CIR of 8 kb/s and with
    /// buckets of 2000 bytes.
    fn trace(eir_bps: u64, is_coupled: bool, arrivals: &[(u64, &str)]) -> String {
        let profile = BandwidthProfile { cir_bps: 8000, cbs_bytes: 2000, eir_bps, ebs_bytes: 2000, is_coupled };
        let mut policer = Policer::new(&profile);
        let frames = arrivals.iter().flat_map(|(at_s, colors)| colors.chars().map(move |color| (at_s * S, color)));
        frames
            .map(|(time_ns, color)| {
                let arriving = if color == 'Y' { Color::Yellow } else { Color::Green };
                match policer.classify(1000, arriving, time_ns) {
                    Color::Green => 'G',
                    Color::Yellow => 'Y',
                    Color::Red => 'R',
                }
            })
            .collect()
    }

    #[test]
    fn each_bucket_fills_at_its_own_rate() {
        assert_eq!(trace(8000, false, &[(0, "GGGGG"), (1, "GGG")]), "GGYYRGYR");
    }

    #[test]
    fn committed_tokens_that_overflow_go_to_the_excess_bucket_if_the_two_are_coupled() {
        let arrivals = [(0, "GGGGG"), (3, "GGGG")];
        assert_eq!(trace(0, false, &arrivals), "GGYYRGGRR");
        assert_eq!(trace(0, true, &arrivals), "GGYYRGGYR");
    }

    #[test]
    fn a_frame_that_arrives_yellow_takes_no_committed_tokens() {
        assert_eq!(trace(8000, false, &[(0, "YYYGGG")]), "YYRGGR");
    }

    #[test]
    fn a_frame_that_arrives_red_stays_red() {
        assert_eq!(Policer::new(&SERVICE).classify(64, Color::Red, 0), Color::Red);
    }

    #[test]
    fn a_burst_at_line_rate_stays_green_for_as_long_as_tokens_last() {
        for (cbs_bytes, cir_bps, frame_bytes, link_bps, expected) in [
            (12_500, 10_000_000, 1000, 1_000_000_000, 12),
            (12_144, 10_000_000, 1518, 1_000_000_000, 8),
            (64_000, 100_000_000, 1518, 1_000_000_000, 46),
            (64_000, 2_000_000, 64, 100_000_000, 1026),
            // The tokens of the 1.25 ms of this burst are less than a frame.
            (12_500, 1_000_000, 500, 83_200_000, 25),
        ] {
            let profile = BandwidthProfile { cir_bps, cbs_bytes, ..BandwidthProfile::default() };
            let mut policer = Policer::new(&profile);
            let frame_ns = |k: u64| k * (frame_bytes as u64 + 20) * 8 * S / link_bps;
            let burst = (0..).take_while(|k| policer.classify(frame_bytes, Color::Green, frame_ns(*k)) == Color::Green);
            assert_eq!(burst.count(), expected, "CBS {cbs_bytes}, {frame_bytes}-byte frames");
        }
    }

    /// Frames passed of those that arrive evenly from full buckets.
    fn passed(profile: BandwidthProfile, frame_bytes: usize, rate_pps: f64, duration_s: u64) -> (u64, u64) {
        let mut policer = Policer::new(&profile);
        let count = (rate_pps * duration_s as f64) as u64;
        let is_passed = |n: &u64| {
            policer.classify(frame_bytes, Color::Green, S + (*n as f64 * S as f64 / rate_pps) as u64) != Color::Red
        };
        ((0..count).filter(is_passed).count() as u64, count)
    }

    #[test]
    fn all_frames_within_the_sum_of_the_rates_pass() {
        for (rate_pps, duration_s, expected) in
            [(62.5, 5, 312), (125.0, 5, 625), (187.5, 5, 937), (250.0, 5, 1250), (375.0, 10, 3750)]
        {
            assert_eq!(passed(SERVICE, 500, rate_pps, duration_s), (expected, expected), "{rate_pps} fps");
        }
    }

    #[test]
    fn of_a_higher_load_the_rates_and_the_buckets_pass() {
        for (rate_pps, duration_s, expected, offered) in
            [(406.25, 10, 3778, 4062), (406.25, 60, 22_529, 24_375), (2000.0, 10, 3797, 20_000)]
        {
            let drain_s = 8.0 * 12_500.0 / (rate_pps * 4000.0 - 1e6);
            let bytes = 1.5e6 * duration_s as f64 / 8.0 + 25_000.0 - 5e5 * drain_s / 8.0;
            let (passed, count) = passed(SERVICE, 500, rate_pps, duration_s);
            assert!((bytes / 500.0 - passed as f64).abs() <= 2.0, "{passed} at {rate_pps} fps");
            assert!(passed.abs_diff(expected) <= 2, "{passed} at {rate_pps} fps");
            assert_eq!(count, offered);
        }
    }

    #[test]
    fn a_lower_committed_rate_and_bytes_counted_twice_show_as_loss() {
        let low = BandwidthProfile { cir_bps: 900_000, eir_bps: 0, ebs_bytes: 0, ..SERVICE };
        let lost = |(passed, count): (u64, u64)| count - passed;
        assert!(lost(passed(low, 500, 250.0, 10)).abs_diff(226) <= 2);
        let committed = BandwidthProfile { eir_bps: 0, ebs_bytes: 0, ..SERVICE };
        assert!(lost(passed(committed, 520, 250.0, 10)).abs_diff(73) <= 2);
    }

    #[test]
    fn a_frame_read_out_of_order_neither_adds_nor_removes_tokens() {
        let mut policer = Policer::new(&BandwidthProfile { cir_bps: 8000, cbs_bytes: 1000, ..Default::default() });
        for (time_ns, expected) in [(5 * S, Color::Green), (4 * S, Color::Red), (6 * S, Color::Green)] {
            assert_eq!(policer.classify(1000, Color::Green, time_ns), expected);
        }
    }

    proptest! {
        #[test]
        fn no_window_passes_more_than_the_rates_and_the_buckets(
            cir_bps in 0u64..10_000_000_000,
            eir_bps in 0u64..10_000_000_000,
            sizes in (0u64..200_000, 0u64..200_000),
            is_coupled: bool,
            arrivals in prop::collection::vec((0u64..10_000_000, 64usize..9216, any::<bool>()), 1..80),
        ) {
            let (cbs_bytes, ebs_bytes) = sizes;
            let mut policer =
                Policer::new(&BandwidthProfile { cir_bps, cbs_bytes, eir_bps, ebs_bytes, is_coupled });
            let (mut now_ns, mut bytes) = (S, 0);
            // Time, and bytes passed before and after each frame, in all and as green.
            let mut history: Vec<(u64, [u64; 2], [u64; 2])> = Vec::new();
            let mut green_bytes = 0;
            for (gap_ns, frame_bytes, arrives_green) in arrivals {
                now_ns += gap_ns;
                let before = [bytes, green_bytes];
                let arriving = if arrives_green { Color::Green } else { Color::Yellow };
                let color = policer.classify(frame_bytes, arriving, now_ns);
                bytes += if color == Color::Red { 0 } else { frame_bytes as u64 };
                green_bytes += if color == Color::Green { frame_bytes as u64 } else { 0 };
                prop_assert!(arrives_green || color != Color::Green);
                history.push((now_ns, before, [bytes, green_bytes]));
            }
            let limits = [(cir_bps + eir_bps, cbs_bytes + ebs_bytes), (cir_bps, cbs_bytes)];
            for (first, (begin_ns, before, _)) in history.iter().enumerate() {
                for (end_ns, _, after) in &history[first..] {
                    for (kind, (rate_bps, size_bytes)) in limits.iter().enumerate() {
                        let tokens = u128::from(*rate_bps) * u128::from(end_ns - begin_ns)
                            + u128::from(*size_bytes) * TOKENS_PER_BYTE;
                        prop_assert!(u128::from(after[kind] - before[kind]) * TOKENS_PER_BYTE <= tokens);
                    }
                }
            }
        }
    }
}

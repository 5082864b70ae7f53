//! The order in which a port sends its streams: repeating, and as even as their loads allow.

/// Length of an order whose loads have no simple ratio; a stream's share is then exact to one part in this many.
const ENTRIES_MAX: u64 = 1 << 16;
/// The smallest load is tried as 1, 2, ... parts, up to this many, until all loads are integer multiples of a part.
const PARTS_MAX: u32 = 64;
/// Tolerance for an integer multiple: far below the effect of one frame in a trial.
const INTEGER_TOLERANCE: f64 = 1e-9;

/// A repeating order of streams.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    order: Vec<u32>,
    weights: Vec<u64>,
}

impl Schedule {
    /// Interleave streams in proportion to their loads, one of them above zero, each as evenly spaced as possible.
    pub(crate) fn new(loads_pps: &[f64]) -> Self {
        let weights = integer_proportion(loads_pps).unwrap_or_else(|| nearest_proportion(loads_pps));
        let mut turns: Vec<(f64, u32)> = Vec::new();
        for (stream, weight) in (0u32..).zip(&weights) {
            turns.extend((0..*weight).map(|position| ((position as f64 + 0.5) / *weight as f64, stream)));
        }
        turns.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        Self { order: turns.into_iter().map(|(_, stream)| stream).collect(), weights }
    }

    /// Return one cycle of the order, as stream indices.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Return the number of frames of each stream among the first `count`.
    pub(crate) fn frame_counts(&self, count: u64) -> Vec<u64> {
        let len = self.order.len() as u64;
        let mut turns: Vec<u64> = self.weights.iter().map(|weight| weight * (count / len)).collect();
        for stream in &self.order[..(count % len) as usize] {
            turns[*stream as usize] += 1;
        }
        turns
    }
}

/// Return the loads as small integers of the same ratio, if there are any.
fn integer_proportion(loads_pps: &[f64]) -> Option<Vec<u64>> {
    let smallest = loads_pps.iter().copied().filter(|load| *load > 0.0).fold(f64::INFINITY, f64::min);
    let is_whole = |parts: &f64| (parts - parts.round()).abs() <= INTEGER_TOLERANCE * parts.max(1.0);
    (1..=PARTS_MAX)
        .map(|parts| smallest / f64::from(parts))
        .find(|part| loads_pps.iter().all(|load| is_whole(&(load / part))))
        .map(|part| loads_pps.iter().map(|load| (load / part).round() as u64).collect::<Vec<_>>())
        .filter(|weights| weights.iter().sum::<u64>() <= ENTRIES_MAX)
}

/// Return the loads as integers that add up to about `ENTRIES_MAX`, zero only for a load of zero.
fn nearest_proportion(loads_pps: &[f64]) -> Vec<u64> {
    let sum: f64 = loads_pps.iter().sum();
    let least = |load: f64| u64::from(load > 0.0);
    loads_pps.iter().map(|load| ((load / sum * ENTRIES_MAX as f64).round() as u64).max(least(*load))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_loads_take_turns() {
        let schedule = Schedule::new(&[250.0; 4]);
        assert_eq!(schedule.order(), [0, 1, 2, 3]);
        assert_eq!(schedule.frame_counts(6), [2, 2, 1, 1]);
    }

    #[test]
    fn a_stream_of_twice_the_load_has_twice_the_turns_evenly_spaced() {
        assert_eq!(Schedule::new(&[1000.0, 2000.0]).order(), [1, 0, 1]);
        assert_eq!(Schedule::new(&[0.3, 0.7]).frame_counts(1000), [300, 700]);
    }

    #[test]
    fn a_stream_without_load_has_no_turn() {
        assert_eq!(Schedule::new(&[10.0, 0.0, 20.0]).frame_counts(300), [100, 0, 200]);
        assert_eq!(Schedule::new(&[1.0, 0.0, std::f64::consts::PI]).frame_counts(1_000_000)[1], 0);
    }

    #[test]
    fn loads_in_no_simple_proportion_keep_their_shares_closely() {
        let loads = [1.0, std::f64::consts::PI, 1000.0 * std::f64::consts::E];
        let turns = Schedule::new(&loads).frame_counts(10_000_000);
        for (position, load) in turns.iter().zip(loads) {
            let share = load / loads.iter().sum::<f64>();
            assert!((*position as f64 / 1e7 - share).abs() < 1.0 / 65_536.0, "{position} {share}");
        }
    }

    /// Smoothness: among any first n frames, a stream is never two frames away from its share.
    #[test]
    fn no_stream_is_ever_two_turns_ahead_or_behind() {
        let loads = [5.0, 3.0, 7.0, 1.0, 12.0];
        let schedule = Schedule::new(&loads);
        for count in 1..=56 {
            for (turns, load) in schedule.frame_counts(count).into_iter().zip(loads) {
                let due = count as f64 * load / 28.0;
                assert!((turns as f64 - due).abs() < 2.0, "{count} {turns} {due}");
            }
        }
    }

    #[test]
    fn thousands_of_streams_make_a_short_order() {
        assert_eq!(Schedule::new(&[0.123_456; 4096]).order().len(), 4096);
    }
}

//! Division by an invariant number, as a multiplication.

/// An invariant divisor for numbers below 2^40.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    by: u64,
    /// 2^64 divided by the divisor, rounded up.
    reciprocal: u64,
}

impl Divisor {
    /// The largest supported divisor: numbers below 2^40 times a rounding error below 2^23 stay below 2^64, so no
    /// quotient is wrong.
    pub(crate) const LARGEST: u64 = 1 << 23;

    /// Create a divisor from 2 to [`Divisor::LARGEST`]; the reciprocal of 1 would not fit.
    pub(crate) fn new(by: u64) -> Self {
        Self { by, reciprocal: u64::MAX / by + 1 }
    }

    /// Return the divisor itself.
    pub(crate) fn value(self) -> u64 {
        self.by
    }

    #[inline]
    pub(crate) fn quotient(self, number: u64) -> u64 {
        ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u64
    }

    #[inline]
    pub(crate) fn remainder(self, number: u64) -> u64 {
        number - self.quotient(number) * self.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotient_and_remainder_are_those_of_a_division() {
        let numbers = (0..2000).chain((0..40).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        let numbers: Vec<u64> = numbers.chain([(1 << 40) - 1]).collect();
        for by in (2..300).chain([65_535, 1_000_000, Divisor::LARGEST - 1, Divisor::LARGEST]) {
            let divisor = Divisor::new(by);
            for &number in &numbers {
                let near = number - number % by;
                for number in [number, near, near.saturating_sub(1)] {
                    assert_eq!((divisor.quotient(number), divisor.remainder(number)), (number / by, number % by));
                }
            }
        }
    }
}

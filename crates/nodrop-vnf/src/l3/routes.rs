//! Longest prefix match over a handful of static routes.

use std::ops::BitAnd;

/// Routes of one address family, longest prefix first: for the few routes of a test path, a linear search is faster
/// than a tree.
#[derive(Clone, Debug)]
pub(super) struct Routes<A>(Vec<Route<A>>);

#[derive(Clone, Copy, Debug)]
struct Route<A> {
    network: A,
    mask: A,
    next: usize,
}

impl<A> Default for Routes<A> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<A: Copy + Ord + BitAnd<Output = A>> Routes<A> {
    /// Route addresses that equal `network` under `mask` to next hop `next`.
    pub(super) fn add(&mut self, network: A, mask: A, next: usize) {
        let position = self.0.partition_point(|route| route.mask >= mask);
        self.0.insert(position, Route { network, mask, next });
    }

    /// Return the next hop for `address`.
    #[inline]
    pub(super) fn find(&self, address: A) -> Option<usize> {
        self.0.iter().find(|route| address & route.mask == route.network).map(|route| route.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_counts_and_of_equal_ones_the_first() {
        let mut routes = Routes::<u32>::default();
        routes.add(0, 0, 0);
        routes.add(0xc612_0000, 0xffff_0000, 1);
        routes.add(0xc612_0100, 0xffff_ff00, 2);
        routes.add(0xc612_0000, 0xffff_0000, 3);
        assert_eq!(routes.find(0xc612_0101), Some(2));
        assert_eq!(routes.find(0xc612_0201), Some(1));
        assert_eq!(routes.find(0x0a00_0001), Some(0));
        assert_eq!(Routes::<u32>::default().find(1), None);
    }
}

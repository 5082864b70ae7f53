//! Two clocks: a monotonic one for pacing, and the wall clock for timestamps, because the kernel timestamps arrivals
//! with it.

/// Source of time for the engine; tests use their own.
pub trait Clock: Sync {
    /// Return nanoseconds of a clock that never jumps.
    fn steady_ns(&self) -> u64;
    /// Return nanoseconds since the epoch.
    fn wall_ns(&self) -> u64;
}

/// The kernel's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[inline]
    fn steady_ns(&self) -> u64 {
        read(libc::CLOCK_MONOTONIC)
    }

    #[inline]
    fn wall_ns(&self) -> u64 {
        read(libc::CLOCK_REALTIME)
    }
}

#[inline]
fn read(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes, and both clocks exist on every Linux.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Offset of the wall clock from the monotonic clock; converts the kernel's monotonic timestamps to wall-clock time.
///
/// Both clocks are disciplined alike, so the offset changes only when the wall clock is set.
#[derive(Clone, Copy, Debug)]
pub struct WallOffset {
    offset_ns: u64,
    /// Uncertainty of `offset_ns`.
    width_ns: u64,
}

impl WallOffset {
    /// A change of the offset beyond this means that the clock was set.
    const SET_NS: u64 = 1_000;

    /// Measure the offset repeatedly and keep the most precise value.
    pub fn new(clock: &impl Clock) -> Self {
        let mut best = Self::measure(clock);
        for _ in 0..16 {
            best = best.more_precise(Self::measure(clock));
        }
        best
    }

    fn measure(clock: &impl Clock) -> Self {
        let (before_ns, wall_ns, after_ns) = (clock.steady_ns(), clock.wall_ns(), clock.steady_ns());
        let width_ns = after_ns - before_ns;
        Self { offset_ns: wall_ns.wrapping_sub(before_ns + width_ns / 2), width_ns }
    }

    fn more_precise(self, other: Self) -> Self {
        if other.width_ns < self.width_ns { other } else { self }
    }

    /// Return the nanoseconds to add to monotonic time now.
    #[inline]
    pub fn current(&mut self, clock: &impl Clock) -> u64 {
        let now = Self::measure(clock);
        let change_ns = (now.offset_ns.wrapping_sub(self.offset_ns) as i64).unsigned_abs();
        *self = if change_ns > Self::SET_NS + now.width_ns { now } else { self.more_precise(now) };
        self.offset_ns
    }
}

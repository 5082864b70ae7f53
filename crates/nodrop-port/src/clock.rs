//! Two clocks: a steady one for pacing, the wall clock for stamps, because the kernel stamps arrivals with it.

/// Where the engine reads time; tests bring their own.
pub trait Clock: Sync {
    /// Nanoseconds on a clock that never jumps.
    fn steady_ns(&self) -> u64;
    /// Nanoseconds since the epoch.
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

/// How far the wall clock is ahead of the steady one: turns the kernel's steady time stamps into wall-clock time.
///
/// Both are steered alike, so the difference changes only when the wall clock is set.
#[derive(Clone, Copy, Debug)]
pub struct WallOffset {
    offset_ns: u64,
    /// How exact `offset_ns` is.
    width_ns: u64,
}

impl WallOffset {
    /// A difference this much other than the one known means that the clock was set.
    const SET_NS: u64 = 1_000;

    /// Measure it with care.
    pub fn new(clock: &impl Clock) -> Self {
        let mut best = Self::measure(clock);
        for _ in 0..16 {
            best = best.or_better(Self::measure(clock));
        }
        best
    }

    fn measure(clock: &impl Clock) -> Self {
        let (before_ns, wall_ns, after_ns) = (clock.steady_ns(), clock.wall_ns(), clock.steady_ns());
        let width_ns = after_ns - before_ns;
        Self { offset_ns: wall_ns.wrapping_sub(before_ns + width_ns / 2), width_ns }
    }

    fn or_better(self, other: Self) -> Self {
        if other.width_ns < self.width_ns { other } else { self }
    }

    /// Nanoseconds to add to steady time now.
    #[inline]
    pub fn current(&mut self, clock: &impl Clock) -> u64 {
        let now = Self::measure(clock);
        let apart_ns = (now.offset_ns.wrapping_sub(self.offset_ns) as i64).unsigned_abs();
        *self = if apart_ns > Self::SET_NS + now.width_ns { now } else { self.or_better(now) };
        self.offset_ns
    }
}

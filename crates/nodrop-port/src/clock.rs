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

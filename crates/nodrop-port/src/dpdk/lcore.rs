//! Threads as DPDK knows them: only those it knows keep buffers at hand instead of fetching each from a shared ring.

use super::ffi;

struct Lcore {
    entered: bool,
}

impl Drop for Lcore {
    fn drop(&mut self) {
        if self.entered {
            // SAFETY: this very thread was registered, and ends.
            unsafe { ffi::nd_thread_leave() };
        }
    }
}

thread_local! {
    // SAFETY: takes no arguments; ports exist only once DPDK has started. One it refuses works too, only slower.
    static LCORE: Lcore = Lcore { entered: unsafe { ffi::nd_thread_enter() } == 1 };
}

/// Make the calling thread known to DPDK until it ends.
#[inline]
pub(super) fn enter() {
    LCORE.with(|_| ());
}

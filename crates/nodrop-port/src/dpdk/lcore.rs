//! Registration of threads with DPDK: only registered threads have a buffer cache instead of accessing a shared ring.

use super::ffi;

struct Lcore {
    entered: bool,
}

impl Drop for Lcore {
    fn drop(&mut self) {
        if self.entered {
            // SAFETY: this thread was registered and is ending.
            unsafe { ffi::nd_thread_leave() };
        }
    }
}

thread_local! {
    // SAFETY: takes no arguments; ports exist only after DPDK has started. An unregistered thread works, but slower.
    static LCORE: Lcore = Lcore { entered: unsafe { ffi::nd_thread_enter() } == 1 };
}

/// Register the calling thread with DPDK until it ends.
#[inline]
pub(super) fn register_thread() {
    LCORE.with(|_| ());
}

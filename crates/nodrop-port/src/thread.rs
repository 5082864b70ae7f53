//! Cores and sleeping.

use std::time::Duration;

use crate::PortError;

/// Bind the calling thread to CPUs, one or several; threads it starts inherit that.
///
/// # Errors
/// When the CPU does not exist or is not ours to use.
pub fn bind_to_cores(cores: &[usize]) -> Result<(), PortError> {
    const REMEDY: &str = "choose some listed by `nproc --all` and allowed by `taskset -p $$`";
    let port = format!("cores {cores:?}");
    if cores.iter().any(|core| *core >= libc::CPU_SETSIZE as usize) {
        return Err(PortError::Request { port, message: format!("no such CPU; {REMEDY}") });
    }
    // SAFETY: an all-zero cpu_set_t is the empty set, and every CPU set in it was checked to fit.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cores.iter().for_each(|core| libc::CPU_SET(*core, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == 0 { Ok(()) } else { Err(PortError::last_os(&port, "bind a thread to them", REMEDY)) }
}

/// The CPUs a thread may run on.
#[cfg(feature = "dpdk")]
pub(crate) struct Affinity(libc::cpu_set_t);

#[cfg(feature = "dpdk")]
impl Affinity {
    /// Of the calling thread; all CPUs where the kernel does not tell.
    pub(crate) fn current() -> Self {
        // SAFETY: an all-zero cpu_set_t is the empty set; the call writes at most its size.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
                (0..libc::CPU_SETSIZE as usize).for_each(|core| libc::CPU_SET(core, &mut set));
            }
            Self(set)
        }
    }

    /// The lowest of them.
    pub(crate) fn first_core(&self) -> usize {
        // SAFETY: every number asked for fits the set.
        (0..libc::CPU_SETSIZE as usize).find(|core| unsafe { libc::CPU_ISSET(*core, &self.0) }).unwrap_or(0)
    }

    /// Make them the calling thread's again.
    pub(crate) fn restore(&self) {
        // SAFETY: the set is valid for reads of its size. It was allowed before, so it is again.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const self.0) };
    }
}

/// Let short sleeps of the calling thread end on time (the kernel's default allows 50 µs more).
pub fn sharpen_sleep() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000 as libc::c_ulong) };
}

/// Nice value of threads that send, receive or forward.
const FAVOURED: libc::c_int = -10;

/// Let other work on the calling thread's CPU wait: it gets a tenth of the time. Does nothing where that is not allowed.
pub fn favour() {
    // SAFETY: takes integers and touches no memory; 0 is the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, FAVOURED) };
}

/// How long the calling thread has so far been ready to run while other work had its CPU, in nanoseconds.
///
/// Zero where the kernel keeps no such account (`CONFIG_SCHED_INFO`).
#[must_use]
pub fn cpu_wait_ns() -> u64 {
    // Documentation/scheduler/sched-stats.rst: time on the CPU, time waiting for one, number of time slices.
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedstat.split_whitespace().nth(1).and_then(|wait| wait.parse().ok()).unwrap_or(0)
}

/// Sleep for `ns` nanoseconds.
pub fn sleep_ns(ns: u64) {
    std::thread::sleep(Duration::from_nanos(ns));
}

/// A thread of this process, to be woken from a system call.
#[derive(Clone, Copy, Debug)]
pub struct Id(libc::pid_t);

/// The calling thread.
#[must_use]
pub fn this() -> Id {
    // SAFETY: gettid takes and touches nothing.
    Id(unsafe { libc::gettid() })
}

extern "C" fn nothing(_: libc::c_int) {}

/// Let [`wake`] end system calls of this process, and do nothing else.
pub fn catch_wake_ups() {
    // SAFETY: an all-zero sigaction is valid; the handler does nothing, so it is safe at any moment. No SA_RESTART: a
    // system call that it interrupts ends.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut());
    }
}

/// Wake a thread from the system call it is in.
pub fn wake(thread: Id) {
    // SAFETY: tgkill takes integers only; a thread that is gone is no harm.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread.0, libc::SIGUSR2) };
}

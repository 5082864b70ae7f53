//! Thread scheduling: CPU affinity, priority, sleeping, interrupting system calls.

use std::time::Duration;

use crate::PortError;

/// Pin the calling thread to one or several CPUs; threads it starts inherit the affinity.
///
/// # Errors
/// If a CPU does not exist or is not allowed.
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
    if result == 0 { Ok(()) } else { Err(PortError::last_os(&port, "pin a thread", REMEDY)) }
}

/// The CPUs a thread may run on.
#[cfg(feature = "dpdk")]
pub(crate) struct Affinity(libc::cpu_set_t);

#[cfg(feature = "dpdk")]
impl Affinity {
    /// Return the affinity of the calling thread; all CPUs if the kernel does not report it.
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

    /// Return the lowest CPU.
    pub(crate) fn first_core(&self) -> usize {
        // SAFETY: every number passed fits the set.
        (0..libc::CPU_SETSIZE as usize).find(|core| unsafe { libc::CPU_ISSET(*core, &self.0) }).unwrap_or(0)
    }

    /// Set the affinity of the calling thread.
    pub(crate) fn restore(&self) {
        // SAFETY: the set is valid for reads of its size. It was the affinity before, so it is allowed.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const self.0) };
    }
}

/// Make short sleeps of the calling thread precise (the kernel's default timer slack is 50 µs).
pub fn reduce_timer_slack() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000 as libc::c_ulong) };
}

/// Nice value of threads that send, receive or forward.
const HIGH_PRIORITY: libc::c_int = -10;

/// Nice value of their session.
const SESSION_PRIORITY: &str = "-15";

/// Environment variable; with `normal`, neither tester nor SUT takes priority over other work.
const PRIORITY: &str = "NODROP_PRIORITY";

/// Raise the priority of the calling process above that of other sessions and of other processes of its own session. No
/// effect without permission, or with `NODROP_PRIORITY=normal`. Call before starting threads, which inherit it.
///
/// sched(7), "The autogroup feature": with `kernel.sched_autogroup_enabled`, a nice value counts only among the processes
/// of one session, and sessions share the CPUs by the nice value of their autogroup. So the process gets a session of its
/// own; the kernel removes the autogroup with its last process, also after SIGKILL.
pub fn raise_priority() {
    // SAFETY: setsid takes no arguments. It fails for the leader of a process group, which the starter has given a
    // session already.
    unsafe { libc::setsid() };
    if std::env::var_os(PRIORITY).is_some_and(|value| value == "normal") {
        return;
    }
    // SAFETY: setpriority takes integers and touches no memory; 0 is the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, HIGH_PRIORITY) };
    let _ = std::fs::write("/proc/self/autogroup", SESSION_PRIORITY);
}

/// Sleep for `ns` nanoseconds.
pub fn sleep_ns(ns: u64) {
    std::thread::sleep(Duration::from_nanos(ns));
}

/// A thread of this process, to be woken from a system call.
#[derive(Clone, Copy, Debug)]
pub struct ThreadId(libc::pid_t);

impl ThreadId {
    /// Return the number that names the thread in `/proc`.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0.unsigned_abs()
    }
}

/// Return the id of the calling thread.
#[must_use]
pub fn current() -> ThreadId {
    // SAFETY: gettid takes and touches nothing.
    ThreadId(unsafe { libc::gettid() })
}

extern "C" fn ignore_signal(_: libc::c_int) {}

/// Install a signal handler without effect, so that [`wake`] interrupts system calls.
pub fn install_wake_handler() {
    // SAFETY: an all-zero sigaction is valid; the handler does nothing, so it is async-signal-safe. Without SA_RESTART,
    // an interrupted system call returns.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore_signal as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut());
    }
}

/// Interrupt the system call of a thread.
pub fn wake(thread: ThreadId) {
    // SAFETY: tgkill takes integers only; a thread that has exited is not affected.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread.0, libc::SIGUSR2) };
}

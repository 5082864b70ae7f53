//! Kernel helpers that a program may call (linux/bpf.h, `___BPF_FUNC_MAPPER`).

/// A kernel helper by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Helper {
    /// `r0 = address of the value of key *r2 in map r1`, or zero.
    MapLookup = 1,
    /// `map r1[*r2] = *r3`, flags in r4.
    MapUpdate = 2,
    /// `r0 = CLOCK_MONOTONIC` in nanoseconds.
    KtimeGetNs = 5,
    /// A 32-bit random number.
    Random = 7,
    /// Number of the current CPU.
    GetSmpProcessorId = 8,
    /// Process and thread of the current task: `tgid << 32 | pid`.
    GetCurrentPidTgid = 14,
    /// Write the name of the current task to r1, of r2 bytes.
    GetCurrentComm = 16,
    /// Redirect the frame to interface r1, flags in r2.
    Redirect = 23,
    /// Move the start of an XDP frame r1 by r2 bytes.
    XdpAdjustHead = 44,
    /// Redirect the frame to entry r2 of the device or socket map r1; the lower two bits of r3 are the action if the
    /// entry is empty.
    RedirectMap = 51,
    /// Move the start of the metadata in front of an XDP frame r1 by r2 bytes.
    XdpAdjustMeta = 54,
    /// Move the end of an XDP frame r1 by r2 bytes.
    XdpAdjustTail = 65,
    /// Read r2 bytes of kernel memory at r3 to r1.
    ProbeReadKernel = 113,
}

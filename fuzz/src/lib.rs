//! Shared by all fuzz targets.

use std::sync::Once;

/// Stack size of the handler that stores an input, because the ordinary stack has overflowed by then.
const HANDLER_STACK_BYTES: usize = 1 << 16;

/// Make libFuzzer store the input even if it overflows the stack.
pub fn keep_overflows() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let stack = Box::leak(vec![0u8; HANDLER_STACK_BYTES].into_boxed_slice());
        let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
        // SAFETY: the memory is valid for the rest of the process, and has no other user.
        unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) };
        // SAFETY: all zeros is the default action, whose flag libFuzzer keeps when it installs its own handler.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
        }
    });
}

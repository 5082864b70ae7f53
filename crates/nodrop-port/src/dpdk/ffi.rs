//! The functions of `shim.c`.

use std::ffi::{c_char, c_int, c_uint};

/// `struct rte_mbuf`, only used by pointer.
#[repr(C)]
pub(super) struct Mbuf {
    _opaque: [u8; 0],
}

/// `struct rte_mempool`, only used by pointer.
#[repr(C)]
pub(super) struct Pool {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RawFrame {
    pub(super) bytes: *const u8,
    pub(super) length: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Setup {
    pub(super) rx_slots: u16,
    pub(super) tx_slots: u16,
    pub(super) frame_bytes: u16,
    pub(super) socket: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drops {
    pub(super) missed: u64,
    pub(super) no_buffer: u64,
}

unsafe extern "C" {
    pub(super) static nd_tag_offset: usize;
    pub(super) static nd_bytes_offset: usize;
    pub(super) fn nd_eal_init(argc: c_int, argv: *mut *mut c_char) -> c_int;
    pub(super) fn nd_version() -> *const c_char;
    pub(super) fn nd_has_huge_pages() -> c_int;
    pub(super) fn nd_error() -> c_int;
    pub(super) fn nd_error_text(error: c_int) -> *const c_char;
    pub(super) fn nd_probe(device: *const c_char, name: *const c_char, port: *mut u16) -> c_int;
    pub(super) fn nd_pool_create(name: *const c_char, count: c_uint, frame_bytes: u16, socket: c_int) -> *mut Pool;
    pub(super) fn nd_pool_free(pool: *mut Pool);
    pub(super) fn nd_port_describe(port: u16, setup: *mut Setup) -> c_int;
    pub(super) fn nd_port_start(port: u16, setup: *mut Setup, rx_pool: *mut Pool) -> c_int;
    pub(super) fn nd_link_is_up(port: u16) -> c_int;
    pub(super) fn nd_port_close(port: u16);
    pub(super) fn nd_drops(port: u16, drops: *mut Drops) -> c_int;
    pub(super) fn nd_thread_enter() -> c_int;
    pub(super) fn nd_thread_leave();
    pub(super) fn nd_tx_take(pool: *mut Pool, mbufs: *mut *mut Mbuf, count: c_uint) -> c_uint;
    pub(super) fn nd_tx_send(port: u16, mbufs: *mut *mut Mbuf, lengths: *const u16, count: c_uint) -> c_uint;
    pub(super) fn nd_rx_take(port: u16, mbufs: *mut *mut Mbuf, frames: *mut RawFrame, count: c_uint) -> c_uint;
    pub(super) fn nd_rx_give_back(mbufs: *mut *mut Mbuf, count: c_uint);
}

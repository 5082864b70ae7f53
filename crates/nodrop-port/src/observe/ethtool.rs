//! Driver statistics per queue (`ethtool -S`), timestamping capabilities, and interface names by index.
//!
//! Source: <linux/ethtool.h> struct ethtool_gstrings, struct ethtool_stats; netdevice(7).

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::PortError;

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;
const ETH_SS_STATS: u32 = 1;
/// Bit of `rx_filters`: all frames are timestamped, not only those of the precision time protocol.
const HWTSTAMP_FILTER_ALL: u32 = 1;
const HARDWARE_FLAGS: u32 =
    libc::SOF_TIMESTAMPING_TX_HARDWARE | libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
const NAME_BYTES: usize = 32;
/// Substrings in names of counters of lost frames.
const DROP_WORDS: [&str; 9] = ["drop", "discard", "err", "miss", "nobuf", "no_buf", "alloc_fail", "overrun", "fifo"];
/// More counters than any driver has.
const COUNTERS_MAX: usize = 1 << 14;

/// Timestamping capabilities of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamping {
    /// The kernel timestamps received frames.
    pub software: bool,
    /// The network card timestamps all frames, sent and received.
    pub hardware: bool,
    /// Hardware clock of the card, /dev/ptp<n>; timestamps are comparable only between ports of the same clock.
    pub phc_index: Option<u32>,
}

/// Return the timestamping capabilities of an interface of the current network namespace; None if not reported.
#[must_use]
pub fn timestamping(interface: &str) -> Option<Timestamping> {
    // struct ethtool_ts_info: cmd, so_timestamping, phc_index, tx_types, 3 reserved, rx_filters, 3 reserved.
    let mut words = [0; 11];
    words[0] = ETHTOOL_GET_TS_INFO;
    let socket = open().ok()?;
    request_ethtool(&socket, interface, words.as_mut_ptr()).then(|| Timestamping {
        software: words[1] & libc::SOF_TIMESTAMPING_RX_SOFTWARE == libc::SOF_TIMESTAMPING_RX_SOFTWARE,
        hardware: words[1] & HARDWARE_FLAGS == HARDWARE_FLAGS && words[7] >> HWTSTAMP_FILTER_ALL & 1 == 1,
        phc_index: u32::try_from(words[2].cast_signed()).ok(),
    })
}

/// Open a socket for requests in the current network namespace.
pub(super) fn open() -> Result<OwnedFd, PortError> {
    // SAFETY: socket takes integers only; the result is checked before it becomes an owned descriptor.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(PortError::last_os("ethtool", "open a socket", "the kernel needs CONFIG_INET"));
    }
    // SAFETY: `fd` was just opened and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Return the driver's counters of lost frames.
pub(super) fn drop_counters(socket: &OwnedFd, interface: &str) -> Vec<(String, u64)> {
    let count = counter_count(socket, interface);
    let (names, values) = (names(socket, interface, count), values(socket, interface, count));
    let named = names.into_iter().zip(values);
    named.filter(|(name, _)| DROP_WORDS.iter().any(|word| name.contains(word))).collect()
}

/// Return the name of the interface with this index.
pub(super) fn interface_name(socket: &OwnedFd, index: i32) -> Option<String> {
    // SAFETY: an all-zero ifreq is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_ifru.ifru_ifindex = index;
    // SAFETY: SIOCGIFNAME reads the index and writes the name of the ifreq it is given.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFNAME, &raw mut request) };
    let name = request.ifr_name.iter().map(|byte| byte.cast_unsigned()).take_while(|byte| *byte != 0).collect();
    if result == 0 { String::from_utf8(name).ok() } else { None }
}

/// struct ethtool_sset_info: cmd, reserved, sset_mask (64 bits), data[].
fn counter_count(socket: &OwnedFd, interface: &str) -> usize {
    let mut words = [ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_STATS, 0, 0, 0];
    let success = request_ethtool(socket, interface, words.as_mut_ptr());
    if success && words[2] != 0 { (words[4] as usize).min(COUNTERS_MAX) } else { 0 }
}

/// struct ethtool_gstrings: cmd, string_set, len, data[len * 32].
fn names(socket: &OwnedFd, interface: &str, count: usize) -> Vec<String> {
    let mut words = vec![0; 3 + count * NAME_BYTES / size_of::<u32>()];
    words[..3].copy_from_slice(&[ETHTOOL_GSTRINGS, ETH_SS_STATS, count as u32]);
    if count == 0 || !request_ethtool(socket, interface, words.as_mut_ptr()) {
        return Vec::new();
    }
    let bytes: Vec<u8> = words[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let text = |name: &[u8]| name.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
    bytes.chunks_exact(NAME_BYTES).map(text).collect()
}

/// struct ethtool_stats: cmd, n_stats, data[n_stats] of 64 bits.
fn values(socket: &OwnedFd, interface: &str, count: usize) -> Vec<u64> {
    let mut words = vec![0; 2 + count * 2];
    words[..2].copy_from_slice(&[ETHTOOL_GSTATS, count as u32]);
    if count == 0 || !request_ethtool(socket, interface, words.as_mut_ptr()) {
        return Vec::new();
    }
    let value = |pair: &[u32]| u64::from_ne_bytes(std::array::from_fn(|at| pair[at / 4].to_ne_bytes()[at % 4]));
    words[2..].chunks_exact(2).map(value).collect()
}

/// Execute an ethtool command; `words` must be long enough for the command's output.
fn request_ethtool(socket: &OwnedFd, interface: &str, words: *mut u32) -> bool {
    // SAFETY: an all-zero ifreq is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(interface.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_data = words.cast();
    // SAFETY: the callers pass buffers of the length stated in the command's count field.
    unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) == 0 }
}

//! Counters of the host and of its interfaces.

use std::fs;
use std::io::Read;

use crate::interface_index;
use crate::observe::netlink;

/// A clock tick of `/proc`, in nanoseconds (`USER_HZ`, 100 on all architectures that nodrop runs on).
pub const TICK_NS: u64 = 10_000_000;

/// Snapshot of the host's counters; subtract two snapshots to get the change in between.
#[derive(Clone, Debug, Default)]
pub struct HostCounters {
    /// Steal time: the hypervisor ran other guests while this machine was runnable; all CPUs, in clock ticks.
    pub steal_ticks: u64,
    /// Total CPU time, all CPUs, in clock ticks.
    pub total_ticks: u64,
    /// CPU time of this process, in nanoseconds.
    pub process_cpu_ns: u64,
}

/// Read the counters now.
#[must_use]
pub fn read() -> HostCounters {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let (steal_ticks, total_ticks) = parse_stat(&stat);
    HostCounters { steal_ticks, total_ticks, process_cpu_ns: process_cpu_ns() }
}

/// Return the steal time of all CPUs, in clock ticks. Reads only the first line of `/proc/stat`, of as many as there are
/// CPUs; the kernel still composes all of them, so a call takes some 10 µs and 1 µs for each CPU.
#[must_use]
pub fn read_steal_ticks() -> u64 {
    let mut line = [0; 256];
    let len = fs::File::open("/proc/stat").and_then(|mut stat| stat.read(&mut line)).unwrap_or(0);
    parse_stat(&String::from_utf8_lossy(&line[..len])).0
}

/// Return the frames that the kernel dropped on receive at an interface of this network namespace before they reached a
/// socket.
#[must_use]
pub fn interface_receive_drops(interface: &str) -> u64 {
    let count = interface_index(interface).ok().and_then(netlink::receive_drops);
    count.unwrap_or_else(|| net_dev_column(&fs::read_to_string("/proc/self/net/dev").unwrap_or_default(), interface, 3))
}

/// Return the EtherTypes that have a handler in this network namespace.
#[must_use]
pub fn handled_ether_types() -> Vec<u16> {
    parse_ptype(&fs::read_to_string("/proc/self/net/ptype").unwrap_or_default())
}

/// Send counters of an interface of this network namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    /// Frames sent.
    pub frames: u64,
    /// Frames dropped instead of sent.
    pub drops: u64,
}

/// Read the send counters of an interface.
#[must_use]
pub fn send_counters(interface: &str) -> SendCounters {
    let table = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let column = |at| net_dev_column(&table, interface, at);
    SendCounters { frames: column(9), drops: column(11) }
}

/// Return the name of an interface; empty if it no longer exists.
#[must_use]
pub fn interface_name(index: u32) -> String {
    let mut name = [0u8; libc::IF_NAMESIZE];
    // SAFETY: `name` has the size that if_indextoname requires.
    let exists = unsafe { !libc::if_indextoname(index, name.as_mut_ptr().cast()).is_null() };
    let end = name.iter().position(|byte| *byte == 0).filter(|_| exists).unwrap_or(0);
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// Parse steal and total ticks from `cpu user nice system idle iowait irq softirq steal guest guest_nice`
/// (proc_stat(5)); user includes guest time.
fn parse_stat(stat: &str) -> (u64, u64) {
    let ticks: Vec<u64> =
        stat.lines().next().unwrap_or("").split_whitespace().skip(1).take(8).filter_map(|t| t.parse().ok()).collect();
    (ticks.get(7).copied().unwrap_or(0), ticks.iter().sum())
}

/// Return a column of `name: bytes packets errs drop fifo frame compressed multicast`, then the same for sending
/// (proc_pid_net(5)).
fn net_dev_column(table: &str, interface: &str, column: usize) -> u64 {
    table
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == interface)
        .and_then(|(_, counters)| counters.split_whitespace().nth(column)?.parse().ok())
        .unwrap_or(0)
}

/// Parse `type device function`, type in hexadecimal or ALL, device empty for all (proc_pid_net(5)).
fn parse_ptype(table: &str) -> Vec<u16> {
    table.lines().filter_map(|line| u16::from_str_radix(line.split_whitespace().next()?, 16).ok()).collect()
}

fn process_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes, and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_column_and_guest_time_is_not_counted_twice() {
        assert_eq!(parse_stat("cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 2 3 4 5 6 7 8\n"), (80, 360));
        assert_eq!(parse_stat(""), (0, 0));
    }

    #[test]
    fn types_are_the_numbers_in_the_first_column() {
        let table =
            "Type Device      Function\nALL  eth0     packet_rcv\n0800          ip_rcv\n86dd          ipv6_rcv\n";
        assert_eq!(parse_ptype(table), [0x0800, 0x86dd]);
    }

    #[test]
    fn both_ways_to_read_receive_drops_say_the_same() {
        let table = fs::read_to_string("/proc/self/net/dev").unwrap();
        let count = netlink::receive_drops(interface_index("lo").unwrap());
        assert_eq!(count, Some(net_dev_column(&table, "lo", 3)));
    }

    #[test]
    fn receive_drops_are_the_fourth_counter_of_the_interface() {
        let table = "Inter-| Receive\n face |bytes\n  eth0: 1 2 3 4 5 6\neth01:9 9 9 9 9\n";
        assert_eq!(net_dev_column(table, "eth0", 3), 4);
        assert_eq!(net_dev_column(table, "eth9", 3), 0);
    }
}

//! Kernel counters in text files under /proc, readable without entering a namespace.

use std::fs;

use super::Counters;

/// Counters of an interface by column, from 0, in `/proc/<pid>/net/dev` (proc_pid_net(5)).
const INTERFACE_COLUMNS: [(usize, &str); 8] = [
    (1, "rx_packets"),
    (2, "rx_errors"),
    (3, "rx_dropped"),
    (4, "rx_fifo"),
    (9, "tx_packets"),
    (10, "tx_errors"),
    (11, "tx_dropped"),
    (12, "tx_fifo"),
];
/// IP counters of packets that were not forwarded or delivered (RFC 4293).
const IP_DROPS: [&str; 7] =
    ["InHdrErrors", "InAddrErrors", "InUnknownProtos", "InDiscards", "OutDiscards", "OutNoRoutes", "FragFails"];

/// Add the interface counters of the network namespace of process `pid`; return the interfaces' names.
pub(super) fn read_interfaces(namespace: &str, pid: u32, into: &mut Counters) -> Vec<String> {
    let table = fs::read_to_string(format!("/proc/{pid}/net/dev")).unwrap_or_default();
    let interfaces = parse_interfaces(&table);
    for (interface, counters) in &interfaces {
        for (column, name) in INTERFACE_COLUMNS {
            if let Some(count) = counters.get(column) {
                into.insert(format!("{namespace}/{interface}/{name}"), *count);
            }
        }
    }
    interfaces.into_iter().map(|(interface, _)| interface).collect()
}

/// Add the IP drop counters of the network namespace of process `pid`.
pub(super) fn read_ip(namespace: &str, pid: u32, into: &mut Counters) {
    let snmp = fs::read_to_string(format!("/proc/{pid}/net/snmp")).unwrap_or_default();
    let snmp6 = fs::read_to_string(format!("/proc/{pid}/net/snmp6")).unwrap_or_default();
    let counts = parse_snmp(&snmp).into_iter().chain(parse_snmp6(&snmp6));
    into.extend(counts.map(|(name, count)| (format!("{namespace}/{name}"), count)));
}

const SOFTNET: &str = "/proc/net/softnet_stat";

/// Frames that passed through the receive backlog of a CPU since boot, for all namespaces together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBacklog {
    /// The CPU.
    pub cpu: u64,
    /// Frames taken from the backlog.
    pub processed_count: u64,
    /// Frames dropped because the backlog was full.
    pub dropped_count: u64,
    /// Times that the kernel ended its work on the backlog for lack of time.
    pub time_squeeze_count: u64,
    /// Frames in the backlog now; 0 before Linux 5.10, which does not report them.
    pub waiting_count: u64,
}

/// Return the receive backlog of each CPU; empty if the kernel does not report them.
#[must_use]
pub fn read_receive_backlogs() -> Vec<ReceiveBacklog> {
    parse_softnet(&fs::read_to_string(SOFTNET).unwrap_or_default())
}

/// Add frames dropped because a CPU's backlog was full, for all namespaces together.
pub(super) fn read_softnet(into: &mut Counters) {
    for backlog in read_receive_backlogs() {
        let cpu = backlog.cpu;
        into.insert(format!("host/softnet/cpu{cpu}/dropped"), backlog.dropped_count);
        into.insert(format!("host/softnet/cpu{cpu}/time_squeeze"), backlog.time_squeeze_count);
    }
}

/// Parse the columns after the colon; skip the loopback interface.
pub(super) fn parse_interfaces(table: &str) -> Vec<(String, Vec<u64>)> {
    table
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, columns)| (name.trim().to_owned(), numbers(columns)))
        .filter(|(name, columns)| name != "lo" && columns.len() == 16)
        .collect()
}

fn numbers(columns: &str) -> Vec<u64> {
    columns.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

/// Parse a line of names and a line of numbers per protocol.
pub(super) fn parse_snmp(table: &str) -> Vec<(String, u64)> {
    let lines: Vec<&str> = table.lines().filter(|line| line.starts_with("Ip:")).collect();
    let [names, counts] = lines[..] else { return Vec::new() };
    let counts = counts.split_whitespace().skip(1).filter_map(|word| word.parse().ok());
    let pairs = names.split_whitespace().skip(1).zip(counts);
    pairs.filter(|(name, _)| IP_DROPS.contains(name)).map(|(name, count)| (format!("ip/{name}"), count)).collect()
}

/// Parse lines such as `Ip6InHdrErrors 0`.
pub(super) fn parse_snmp6(table: &str) -> Vec<(String, u64)> {
    let words = table.lines().filter_map(|line| line.trim().split_once(char::is_whitespace));
    let named = words.filter_map(|(name, count)| Some((name.strip_prefix("Ip6")?, count.trim().parse().ok()?)));
    named.filter(|(name, _)| IP_DROPS.contains(name)).map(|(name, count)| (format!("ip6/{name}"), count)).collect()
}

/// Parse the hexadecimal columns of the kernel's table (net/core/net-procfs.c, softnet_seq_show).
pub(super) fn parse_softnet(table: &str) -> Vec<ReceiveBacklog> {
    let row = |(position, line): (usize, &str)| {
        let columns: Vec<u64> = line.split_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect();
        Some(ReceiveBacklog {
            cpu: columns.get(12).copied().unwrap_or(position as u64),
            processed_count: *columns.first()?,
            dropped_count: *columns.get(1)?,
            time_squeeze_count: *columns.get(2)?,
            waiting_count: columns.get(11).copied().unwrap_or(0),
        })
    };
    table.lines().enumerate().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interface_but_the_loopback_one_is_read() {
        let table = "Inter-| Receive | Transmit\n face |bytes packets\n    lo: 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9\n\
                     sut0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(parse_interfaces(table), [("sut0".to_owned(), (1..=16).collect())]);
    }

    #[test]
    fn only_counters_of_dropped_packets_are_taken_from_the_ip_layer() {
        let table = "Ip: Forwarding InHdrErrors OutNoRoutes\nIp: 1 2 3\nUdp: InDatagrams\nUdp: 4\n";
        assert_eq!(parse_snmp(table), [("ip/InHdrErrors".to_owned(), 2), ("ip/OutNoRoutes".to_owned(), 3)]);
        assert_eq!(parse_snmp6("Ip6InReceives 7\nIp6InDiscards  \t 8\n"), [("ip6/InDiscards".to_owned(), 8)]);
    }

    #[test]
    fn the_backlog_table_is_hexadecimal_and_names_its_cpu() {
        let row = "0000000a 00000010 00000002 0 0 0 0 0 0 0 0 00000007 00000003 00000005 00000002\n";
        let backlog = |cpu, processed_count, dropped_count, time_squeeze_count, waiting_count| ReceiveBacklog {
            cpu,
            processed_count,
            dropped_count,
            time_squeeze_count,
            waiting_count,
        };
        assert_eq!(parse_softnet(row), [backlog(3, 10, 16, 2, 7)]);
        assert_eq!(parse_softnet("1 2 3\n4 5 6\n"), [backlog(0, 1, 2, 3, 0), backlog(1, 4, 5, 6, 0)]);
    }
}

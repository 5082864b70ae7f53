//! Parsers of kernel data, exposed to fuzz targets (`fuzz/`). Built only with `--cfg fuzzing`.

use super::{btf, netlink, proc, shared_counters};

/// Parse kernel types and look up the items in use.
pub fn read_types(bytes: &[u8]) {
    let Some(types) = btf::Btf::parse(bytes.to_vec()) else { return };
    types.offset("sk_buff", &["dev"]);
    types.offset("net_device", &["nd_net", "net"]);
    types.enum_values("skb_drop_reason");
    types.tracepoint_argument("kfree_skb", "sk_buff");
}

/// Parse an rtnetlink reply.
pub fn read_queues(answer: &[u8]) {
    netlink::parse_all(answer, &mut Vec::new());
}

/// Parse a text as each of the tables.
pub fn read_tables(text: &str) {
    proc::parse_interfaces(text);
    proc::parse_snmp(text);
    proc::parse_snmp6(text);
    proc::parse_softnet(text);
    shared_counters::parse(text);
}

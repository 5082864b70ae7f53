//! The parsers of what the kernel says, open to fuzz targets (`fuzz/`). Built with `--cfg fuzzing` only.

use super::{board, btf, netlink, proc};

/// Look for what is looked for in the kernel's types.
pub fn read_types(bytes: &[u8]) {
    let Some(types) = btf::Btf::parse(bytes.to_vec()) else { return };
    types.offset("sk_buff", &["dev"]);
    types.offset("net_device", &["nd_net", "net"]);
    types.values("skb_drop_reason");
    types.tracepoint_argument("kfree_skb", "sk_buff");
}

/// Take an answer of rtnetlink apart.
pub fn read_queues(answer: &[u8]) {
    netlink::parse_all(answer, &mut Vec::new());
}

/// Read a text as each of the tables.
pub fn read_tables(text: &str) {
    proc::parse_interfaces(text);
    proc::parse_snmp(text);
    proc::parse_snmp6(text);
    proc::parse_softnet(text);
    board::parse(text);
}

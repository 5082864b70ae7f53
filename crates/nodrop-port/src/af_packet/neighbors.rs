//! Sockets for ARP and neighbour discovery alone, beside whatever receives test frames.

use super::socket::PacketSocket;
use super::{PacketRx, PacketTx};
use crate::PortError;

const QUEUE_SLOTS: u32 = 1024;
const VLAN_TAG_BYTES: u32 = 4;
const ICMPV6: u32 = 58;
const SOLICITATION: u32 = 135;
const ADVERTISEMENT: u32 = 136;

/// Open `interface` for messages between neighbours: one to send with, and those that they arrive at. `inner_tagged`: also for
/// those behind two VLAN tags.
///
/// Each socket asks for a protocol of its own, so that the kernel shows test frames of others to none of them. It takes the
/// first tag out of a frame before it looks at the protocol.
///
/// # Errors
/// When the interface does not exist or the kernel refuses raw access.
pub fn open_neighbors(interface: &str, inner_tagged: bool) -> Result<(PacketTx, Vec<PacketRx>), PortError> {
    let open = |protocol: libc::c_int| {
        let socket = PacketSocket::open(interface)?;
        socket.filter(program(if protocol == libc::ETH_P_8021Q { VLAN_TAG_BYTES } else { 0 }))?;
        PacketRx::open_protocol(socket, QUEUE_SLOTS, protocol)
    };
    let mut receivers = vec![open(libc::ETH_P_ARP)?, open(libc::ETH_P_IPV6)?];
    if inner_tagged {
        receivers.push(open(libc::ETH_P_8021Q)?);
    }
    Ok((PacketTx::open(interface)?, receivers))
}

/// Accept ARP, and of IPv6 neighbour solicitations and advertisements, behind so many bytes of tags.
fn program(tags_bytes: u32) -> Vec<libc::sock_filter> {
    let load = |size: u32, at: u32| libc::sock_filter {
        code: (libc::BPF_LD | size | libc::BPF_ABS) as u16,
        jt: 0,
        jf: 0,
        k: at + tags_bytes,
    };
    let equal = |k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt,
        jf,
        k,
    };
    let verdict = |k: u32| libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k };
    vec![
        load(libc::BPF_H, 12),
        equal(libc::ETH_P_ARP as u32, 6, 0),
        equal(libc::ETH_P_IPV6 as u32, 0, 6),
        load(libc::BPF_B, 14 + 6),
        equal(ICMPV6, 0, 4),
        load(libc::BPF_B, 14 + 40),
        equal(SOLICITATION, 1, 0),
        equal(ADVERTISEMENT, 0, 1),
        verdict(u32::MAX),
        verdict(0),
    ]
}

//! Sockets for ARP and neighbor discovery only, in addition to the receiver of test frames.

use super::socket::PacketSocket;
use super::{PacketRx, PacketTx};
use crate::PortError;

const QUEUE_SLOTS: u32 = 1024;
const VLAN_TAG_BYTES: u32 = 4;
const ICMPV6: u32 = 58;
const SOLICITATION: u32 = 135;
const ADVERTISEMENT: u32 = 136;
const PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;

/// Open `interface` for address resolution: one sender, and one receiver per protocol. `tagged`: also accept messages
/// behind one or two VLAN tags.
///
/// Untagged messages arrive at sockets bound to ARP and IPv6, so the kernel does not run their filters on test frames
/// of other protocols. `__netif_receive_skb_core` strips the tag before it looks up such sockets; with tags, one socket
/// for all protocols gets every frame, at the cost of a filter run per frame.
///
/// # Errors
/// If the interface does not exist or the kernel denies raw access.
pub fn open_neighbors(interface: &str, tagged: bool) -> Result<(PacketTx, Vec<PacketRx>), PortError> {
    let protocols: &[libc::c_int] = if tagged { &[libc::ETH_P_ALL] } else { &[libc::ETH_P_ARP, libc::ETH_P_IPV6] };
    let open = |protocol: &libc::c_int| {
        let socket = PacketSocket::open(interface)?;
        socket.filter(assemble(if tagged { tagged_program() } else { untagged_program() }))?;
        PacketRx::open_protocol(socket, QUEUE_SLOTS, *protocol)
    };
    let receivers = protocols.iter().map(open).collect::<Result<_, _>>()?;
    Ok((PacketTx::open(interface)?, receivers))
}

/// Jump target: a number of steps to skip, or the result.
#[derive(Clone, Copy)]
enum Target {
    Skip(u8),
    Accept,
    Reject,
}

const NEXT: Target = Target::Skip(0);

/// A step of a filter program.
enum Step {
    Load(u32, u32),
    /// Code, operand; targets if true and if false.
    Jump(u32, u32, Target, Target),
}

fn equal(value: u32, then: Target, otherwise: Target) -> Step {
    Step::Jump(libc::BPF_JEQ, value, then, otherwise)
}

/// Match the message type after `tags_bytes` bytes of tags; `other` is the target for other EtherTypes.
fn message(tags_bytes: u32, other: Target) -> Vec<Step> {
    vec![
        Step::Load(libc::BPF_H, 12 + tags_bytes),
        equal(libc::ETH_P_ARP as u32, Target::Accept, NEXT),
        equal(libc::ETH_P_IPV6 as u32, NEXT, other),
        Step::Load(libc::BPF_B, 14 + 6 + tags_bytes),
        equal(ICMPV6, NEXT, Target::Reject),
        Step::Load(libc::BPF_B, 14 + 40 + tags_bytes),
        equal(SOLICITATION, Target::Accept, NEXT),
        equal(ADVERTISEMENT, Target::Accept, Target::Reject),
    ]
}

/// Accept messages with and without tags; the outermost tag is not in the frame any more.
fn tagged_program() -> Vec<Step> {
    let mut steps = message(0, Target::Skip(5));
    steps.push(equal(libc::ETH_P_8021Q as u32, NEXT, Target::Reject));
    steps.extend(message(VLAN_TAG_BYTES, Target::Reject));
    steps
}

/// Accept untagged messages only. A multicast frame is addressed to this host unless it had a tag of another VLAN.
fn untagged_program() -> Vec<Step> {
    let mut steps = vec![
        Step::Load(libc::BPF_B, 0),
        Step::Jump(libc::BPF_JSET, 1, NEXT, Target::Skip(2)),
        Step::Load(libc::BPF_B, PACKET_TYPE),
        equal(u32::from(libc::PACKET_OTHERHOST), Target::Reject, NEXT),
    ];
    steps.extend(message(0, Target::Reject));
    steps
}

/// Source: Documentation/networking/filter.rst.
fn assemble(steps: Vec<Step>) -> Vec<libc::sock_filter> {
    let accept = steps.len();
    let op = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let distance = |at: usize, target: Target| match target {
        Target::Skip(steps) => steps,
        Target::Accept => (accept - at - 1) as u8,
        Target::Reject => (accept - at) as u8,
    };
    let encoded = |(at, step)| match step {
        Step::Load(size, from) => op(libc::BPF_LD | size | libc::BPF_ABS, 0, 0, from),
        Step::Jump(code, value, then, otherwise) => {
            op(libc::BPF_JMP | code | libc::BPF_K, distance(at, then), distance(at, otherwise), value)
        }
    };
    let result = |k| op(libc::BPF_RET | libc::BPF_K, 0, 0, k);
    steps.into_iter().enumerate().map(encoded).chain([result(u32::MAX), result(0)]).collect()
}

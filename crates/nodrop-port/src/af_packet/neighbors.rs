//! Sockets for ARP and neighbour discovery alone, beside whatever receives test frames.

use super::socket::PacketSocket;
use super::{PacketRx, PacketTx};
use crate::PortError;

const QUEUE_SLOTS: u32 = 1024;
const VLAN_TAG_BYTES: u32 = 4;
const ICMPV6: u32 = 58;
const SOLICITATION: u32 = 135;
const ADVERTISEMENT: u32 = 136;
const PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;

/// Open `interface` for messages between neighbours: one to send with, and those that they arrive at. `tagged`: also for those
/// behind one VLAN tag or two.
///
/// Untagged messages come to sockets that ask for their protocols, so that the kernel shows them no test frame of another.
/// It forgets the tag before it looks for such sockets; with tags, one socket is shown every frame, one more filter run each.
///
/// # Errors
/// When the interface does not exist or the kernel refuses raw access.
pub fn open_neighbors(interface: &str, tagged: bool) -> Result<(PacketTx, Vec<PacketRx>), PortError> {
    let protocols: &[libc::c_int] = if tagged { &[libc::ETH_P_ALL] } else { &[libc::ETH_P_ARP, libc::ETH_P_IPV6] };
    let open = |protocol: &libc::c_int| {
        let socket = PacketSocket::open(interface)?;
        socket.filter(assemble(if tagged { tagged_too() } else { untagged_only() }))?;
        PacketRx::open_protocol(socket, QUEUE_SLOTS, *protocol)
    };
    let receivers = protocols.iter().map(open).collect::<Result<_, _>>()?;
    Ok((PacketTx::open(interface)?, receivers))
}

/// Where a step leads: so many steps on beyond the next, or to the end.
#[derive(Clone, Copy)]
enum To {
    Skip(u8),
    Accept,
    Reject,
}

const NEXT: To = To::Skip(0);

/// A step of a filter program.
enum Step {
    Load(u32, u32),
    /// Code, operand; where to when it holds, and when not.
    Jump(u32, u32, To, To),
}

fn equal(value: u32, then: To, otherwise: To) -> Step {
    Step::Jump(libc::BPF_JEQ, value, then, otherwise)
}

/// Of what a message announces itself as, behind so many bytes of tags; `other` is what else may follow.
fn message(tags_bytes: u32, other: To) -> Vec<Step> {
    vec![
        Step::Load(libc::BPF_H, 12 + tags_bytes),
        equal(libc::ETH_P_ARP as u32, To::Accept, NEXT),
        equal(libc::ETH_P_IPV6 as u32, NEXT, other),
        Step::Load(libc::BPF_B, 14 + 6 + tags_bytes),
        equal(ICMPV6, NEXT, To::Reject),
        Step::Load(libc::BPF_B, 14 + 40 + tags_bytes),
        equal(SOLICITATION, To::Accept, NEXT),
        equal(ADVERTISEMENT, To::Accept, To::Reject),
    ]
}

/// The first tag is not in the frame any more.
fn tagged_too() -> Vec<Step> {
    let mut steps = message(0, To::Skip(5));
    steps.push(equal(libc::ETH_P_8021Q as u32, NEXT, To::Reject));
    steps.extend(message(VLAN_TAG_BYTES, To::Reject));
    steps
}

/// A frame to a group is for this host too, unless it had a tag.
fn untagged_only() -> Vec<Step> {
    let mut steps = vec![
        Step::Load(libc::BPF_B, 0),
        Step::Jump(libc::BPF_JSET, 1, NEXT, To::Skip(2)),
        Step::Load(libc::BPF_B, PACKET_TYPE),
        equal(u32::from(libc::PACKET_OTHERHOST), To::Reject, NEXT),
    ];
    steps.extend(message(0, To::Reject));
    steps
}

/// Source: Documentation/networking/filter.rst.
fn assemble(steps: Vec<Step>) -> Vec<libc::sock_filter> {
    let accept = steps.len();
    let op = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let distance = |at: usize, to: To| match to {
        To::Skip(steps) => steps,
        To::Accept => (accept - at - 1) as u8,
        To::Reject => (accept - at) as u8,
    };
    let encoded = |(at, step)| match step {
        Step::Load(size, from) => op(libc::BPF_LD | size | libc::BPF_ABS, 0, 0, from),
        Step::Jump(code, value, then, otherwise) => {
            op(libc::BPF_JMP | code | libc::BPF_K, distance(at, then), distance(at, otherwise), value)
        }
    };
    let verdict = |k| op(libc::BPF_RET | libc::BPF_K, 0, 0, k);
    steps.into_iter().enumerate().map(encoded).chain([verdict(u32::MAX), verdict(0)]).collect()
}

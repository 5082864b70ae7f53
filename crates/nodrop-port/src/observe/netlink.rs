//! Queueing disciplines and their drops, and statistics of single interfaces, through rtnetlink(7).
//!
//! Source: <linux/rtnetlink.h> struct tcmsg, <linux/gen_stats.h> struct gnet_stats_queue, <linux/if_link.h> struct if_stats_msg and
//! struct rtnl_link_stats64.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::PortError;

const HEADER_BYTES: usize = 16;
const TCMSG_BYTES: usize = 20;
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const RTM_GETSTATS: u16 = 94;
const RTM_NEWSTATS: u16 = 92;
const IF_STATS_MSG_BYTES: usize = 12;
const IFLA_STATS_LINK_64: u16 = 1;
/// Indices in rtnl_link_stats64, in 64-bit words.
const RX_DROPPED: usize = 6;
const RX_MISSED: usize = 15;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
/// Parents of a device's root disciplines: child disciplines report their drops to these.
const ROOT_PARENTS: [u32; 2] = [0xFFFF_FFFF, 0xFFFF_FFF1];

/// Statistics of a root queueing discipline.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Queue {
    pub(super) interface_index: i32,
    pub(super) kind: String,
    pub(super) dropped: u64,
    pub(super) overlimits: u64,
}

/// Return the frames that an interface of the current network namespace dropped on receive, as /proc/net/dev reports
/// them; the cost does not depend on the number of interfaces. None if the kernel does not support it (before Linux
/// 4.7).
pub(crate) fn receive_drops(interface_index: i32) -> Option<u64> {
    let socket = open().ok()?;
    send(&socket, &stats_request(interface_index)).then_some(())?;
    let mut buffer = [0; 1024];
    let length = receive(&socket, &mut buffer)?;
    let (kind, body, _) = message(&buffer[..length])?;
    if kind != RTM_NEWSTATS {
        return None;
    }
    let stats = attribute(body.get(IF_STATS_MSG_BYTES..)?, IFLA_STATS_LINK_64)?;
    let word = |at: usize| Some(u64::from_ne_bytes(stats.get(at * 8..at * 8 + 8)?.try_into().ok()?));
    Some(word(RX_DROPPED)? + word(RX_MISSED)?)
}

/// Build a request for the 64-bit counters of one interface.
fn stats_request(interface_index: i32) -> Vec<u8> {
    let length = (HEADER_BYTES + IF_STATS_MSG_BYTES) as u32;
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(RTM_GETSTATS.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.resize(HEADER_BYTES + 4, 0);
    bytes.extend(interface_index.to_ne_bytes());
    bytes.extend((1u32 << (IFLA_STATS_LINK_64 - 1)).to_ne_bytes());
    bytes
}

/// Open a socket for [`queues`] in the current network namespace.
pub(super) fn open() -> Result<OwnedFd, PortError> {
    // SAFETY: socket takes integers only; the result is checked before it becomes an owned descriptor.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
    if fd < 0 {
        return Err(PortError::last_os("netlink", "open a socket", "the kernel needs CONFIG_NET"));
    }
    // SAFETY: `fd` was just opened and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Return the root queueing disciplines of all interfaces; empty if the kernel has none or does not reply.
pub(super) fn queues(socket: &OwnedFd) -> Vec<Queue> {
    let mut queues = Vec::new();
    if !send(socket, &qdisc_request()) {
        return queues;
    }
    let mut buffer = vec![0; 1 << 16];
    while let Some(length) = receive(socket, &mut buffer) {
        if parse_all(&buffer[..length], &mut queues) {
            break;
        }
    }
    queues
}

/// Parse a datagram's messages; return whether it is the last one.
pub(super) fn parse_all(mut rest: &[u8], queues: &mut Vec<Queue>) -> bool {
    while let Some((kind, body, after)) = message(rest) {
        match kind {
            NLMSG_DONE | NLMSG_ERROR => return true,
            RTM_NEWQDISC => queues.extend(parse(body)),
            _ => {}
        }
        rest = after;
    }
    false
}

fn qdisc_request() -> Vec<u8> {
    let length = (HEADER_BYTES + TCMSG_BYTES) as u32;
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(RTM_GETQDISC.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    bytes.resize(length as usize, 0);
    bytes
}

fn send(socket: &OwnedFd, bytes: &[u8]) -> bool {
    // SAFETY: `bytes` is valid for reads of its length for the length of the call.
    unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) == bytes.len() as isize }
}

fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Option<usize> {
    // SAFETY: `buffer` is valid for writes of its length for the length of the call.
    let length = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    usize::try_from(length).ok().filter(|length| *length > 0)
}

/// Split off the first netlink message: type, body, and the rest.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let body = bytes.get(HEADER_BYTES..length)?;
    Some((u16_at(bytes, 4)?, body, bytes.get(length.next_multiple_of(4)..).unwrap_or(&[])))
}

fn parse(body: &[u8]) -> Option<Queue> {
    if !ROOT_PARENTS.contains(&u32_at(body, 12)?) {
        return None;
    }
    let attributes = body.get(TCMSG_BYTES..)?;
    let kind = attribute(attributes, TCA_KIND)?.split(|byte| *byte == 0).next()?;
    let counts = attribute(attribute(attributes, TCA_STATS2)?, TCA_STATS_QUEUE)?;
    Some(Queue {
        interface_index: u32_at(body, 4)?.cast_signed(),
        kind: String::from_utf8_lossy(kind).into_owned(),
        dropped: u32_at(counts, 8)?.into(),
        overlimits: u32_at(counts, 16)?.into(),
    })
}

/// Return the value of the first attribute of this type.
fn attribute(mut bytes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let length = u16_at(bytes, 0)? as usize;
        let value = bytes.get(4..length)?;
        if u16_at(bytes, 2)? & 0x3FFF == kind {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

//! Frames as bytes: one file per header, checksums, templates, and the signature that tells our frames from others.
//!
//! Pure: no I/O, no clock. Buffers hold a frame without its FCS, which the port or the kernel adds.
//!
//! Not supported: IPv4 options, IPv6 extension headers, fragments.

mod arp;
mod changes;
pub mod checksum;
mod divisor;
mod ethernet;
mod frames;
mod gre;
mod header;
mod icmp;
mod intact;
mod ipv4;
mod ipv6;
mod layout;
mod mpls;
mod nd;
mod neighbor;
mod patch;
mod random;
mod replay;
mod signature;
mod stack;
mod tcp;
mod template;
mod udp;
mod vlan;
mod vxlan;

use std::net::IpAddr;

use nodrop_model::Field;

pub use changes::{Changes, CountingField, FollowingChecksum};
pub use ethernet::MacAddr;
pub use frames::Frames;
pub use intact::is_intact;
pub use layout::{hex, layout};
pub use neighbor::{Heard, Message, Speaker, Tag, tags};
pub use replay::{REPLAY_FRAMES_MAX, Replayed, SourceFrame, replay};
pub use signature::{SIGNATURE_BYTES, Signature, wrapping_elapsed_ns};
pub use template::{Lasting, Template};

/// Length of the frame check sequence, which frame sizes count and buffers do not hold.
pub const FCS_BYTES: usize = 4;

/// Why a frame cannot be built.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WireError {
    /// Not six hexadecimal bytes.
    #[error("MAC address {0:?}: expected six hexadecimal bytes such as 02:00:00:00:00:01")]
    Mac(String),
    /// The headers and the signature do not fit.
    #[error("frame of {asked} bytes: headers, signature and FCS need {smallest}")]
    TooSmall {
        /// Frame size asked for, with FCS.
        asked: usize,
        /// Smallest possible frame size, with FCS.
        smallest: usize,
    },
    /// Larger than any frame.
    #[error("frame of {asked} bytes: the largest is {largest}")]
    TooLarge {
        /// Frame size asked for, with FCS.
        asked: usize,
        /// Largest possible frame size, with FCS.
        largest: usize,
    },
    /// A header that cannot stand where it does.
    #[error("layers: {next} cannot follow {after}")]
    Order {
        /// What it follows.
        after: &'static str,
        /// The header.
        next: &'static str,
    },
    /// More than its field holds.
    #[error("{what} {value}: the largest is {largest}")]
    Number {
        /// Header and field.
        what: &'static str,
        /// The number.
        value: u32,
        /// The largest possible.
        largest: u32,
    },
    /// A range that cannot be.
    #[error("range of {field:?} in layer {layer}: {found}")]
    Range {
        /// The field.
        field: Field,
        /// Its layer.
        layer: usize,
        /// What is wrong.
        found: String,
    },
    /// Too many ranges.
    #[error("ranges: {asked} given, an IPv6 list counted twice; at most {most}")]
    Ranges {
        /// How many.
        asked: usize,
        /// How many are possible.
        most: usize,
    },
    /// A question that cannot be asked.
    #[error("neighbours: {target} asked for as {source_ip}, of another IP version")]
    Versions {
        /// Who asks.
        source_ip: IpAddr,
        /// The address asked for.
        target: IpAddr,
    },
    /// No order of sizes.
    #[error(
        "sizes: {count} with weights of {weights} together; 1 to 256 sizes, each weight from 1, together up to 65536"
    )]
    Sizes {
        /// How many.
        count: usize,
        /// The sum of their weights.
        weights: u64,
    },
    /// A frame to be replayed that cannot be.
    #[error("frame {number}: {found}")]
    ReplayFrame {
        /// Its position in the file.
        number: u64,
        /// What is wrong, what to do.
        found: String,
    },
    /// No frames to replay, or too many.
    #[error("{count} frames, from 1 to {most} can be replayed")]
    ReplayCount {
        /// How many.
        count: usize,
        /// How many are possible.
        most: usize,
    },
    /// Frames too different to be received.
    #[error("headers end in {count} different places, {most} are possible; take fewer kinds of frames with a filter")]
    ReplayPlaces {
        /// In how many.
        count: usize,
        /// How many are possible.
        most: usize,
    },
    /// Headers for frames that have their own.
    #[error(
        "layers: replayed frames have headers of their own; give an Ethernet header with their addresses, or nothing"
    )]
    ReplayLayers,
    /// Too far into a frame.
    #[error("rx_offsets: {asked} asked, the largest is {largest}")]
    Offset {
        /// The offset.
        asked: u16,
        /// The largest possible.
        largest: u16,
    },
}

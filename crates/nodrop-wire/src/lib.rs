//! Frames as bytes: one file per header, checksums, templates, and the signature that identifies test frames.
//!
//! Pure: no I/O, no clock. Buffers hold a frame without its FCS, which the port or the kernel adds.
//!
//! Not supported: IPv4 options, IPv6 extension headers, fragments.

mod arp;
mod arrival;
pub mod checksum;
mod divisor;
mod ethernet;
mod frames;
mod gre;
mod header;
mod icmp;
mod integrity;
mod ipv4;
mod ipv6;
mod layout;
mod mpls;
mod nd;
mod neighbor;
mod patch;
pub mod random;
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

pub use arrival::ArrivalCheck;
pub use ethernet::MacAddr;
pub use frames::Frames;
pub use integrity::is_intact;
pub use layout::{hex, layout};
pub use neighbor::{Message, NeighborEncoder, NeighborMessage, Tag, parse_tags};
pub use replay::{REPLAY_FRAMES_MAX, ReplayFrames, SourceFrame, replay};
pub use signature::{Mark, SIGNATURE_BYTES, Signature, TRIAL_TAGS, wrapping_elapsed_ns};
pub use template::{SlotState, Template};

/// LengthField of the frame check sequence, which counts towards frame sizes but is not in buffers.
pub const FCS_BYTES: usize = 4;

/// Reasons why a frame cannot be built.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WireError {
    /// Invalid arrival field.
    #[error("arrival_fields: {0}")]
    Arrival(String),
    /// Not six hexadecimal bytes.
    #[error("MAC address {0:?}: expected six hexadecimal bytes such as 02:00:00:00:00:01")]
    Mac(String),
    /// Too small for headers and signature.
    #[error("frame size {requested}: too small for headers, signature and FCS; use at least {smallest} bytes")]
    TooSmall {
        /// Requested frame size, with FCS.
        requested: usize,
        /// Smallest possible frame size, with FCS.
        smallest: usize,
    },
    /// Larger than the largest frame.
    #[error("frame size {requested}: too large; use at most {largest} bytes")]
    TooLarge {
        /// Requested frame size, with FCS.
        requested: usize,
        /// Largest possible frame size, with FCS.
        largest: usize,
    },
    /// Invalid order of headers.
    #[error("layers: {next} cannot follow {after}")]
    Order {
        /// Name of the preceding header.
        after: &'static str,
        /// Name of the header that cannot follow.
        next: &'static str,
    },
    /// Number too large for its field.
    #[error("{what} {value}: out of range; the maximum is {largest}")]
    Number {
        /// Header and field.
        what: &'static str,
        /// Value.
        value: u32,
        /// Largest value of the field.
        largest: u32,
    },
    /// A signature in headers that cannot hold it.
    #[error("signature: headers {0}")]
    HeaderSignature(String),
    /// Invalid range.
    #[error("range of {field:?} in layer {layer}: {problem}")]
    Range {
        /// The field.
        field: Field,
        /// Index of the layer.
        layer: usize,
        /// Problem and fix.
        problem: String,
    },
    /// Too many ranges.
    #[error("ranges: {count} variable fields (an IPv6 list counts as two); use at most {limit}")]
    Ranges {
        /// Number of variable fields.
        count: usize,
        /// Largest number supported.
        limit: usize,
    },
    /// Source and target address of different IP versions.
    #[error("neighbors: cannot resolve {target} from {source_ip}; use a source address of the same IP version")]
    Versions {
        /// Source of the request.
        source_ip: IpAddr,
        /// Address to resolve.
        target: IpAddr,
    },
    /// Invalid sizes or weights.
    #[error(
        "sizes: {count} sizes with a total weight of {weights}; use 1 to 256 sizes, each with a weight of at least 1 and 65536 in total"
    )]
    Sizes {
        /// Number of sizes.
        count: usize,
        /// Total weight.
        weights: u64,
    },
    /// A frame that cannot be replayed.
    #[error("frame {number}: {problem}")]
    ReplayFrame {
        /// Position in the file.
        number: u64,
        /// Problem and fix.
        problem: String,
    },
    /// No frames, or too many.
    #[error("{count} frames cannot be replayed; use 1 to {limit} frames")]
    ReplayCount {
        /// Number of frames.
        count: usize,
        /// Largest number supported.
        limit: usize,
    },
    /// Too many different signature offsets.
    #[error(
        "headers end at {count} different offsets, at most {limit} are supported; select fewer kinds of frames with a filter"
    )]
    ReplayOffsets {
        /// Number of offsets.
        count: usize,
        /// Largest number supported.
        limit: usize,
    },
    /// Layers for frames that already have headers.
    #[error(
        "layers: replayed frames already have headers; give one Ethernet header with the addresses to send with, or none"
    )]
    ReplayLayers,
    /// Offset too large.
    #[error("rx_offsets: {offset} is too large; use at most {largest}")]
    Offset {
        /// Requested offset.
        offset: u16,
        /// Largest offset supported.
        largest: u16,
    },
}

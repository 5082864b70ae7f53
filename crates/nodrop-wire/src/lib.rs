//! Frames as bytes: one file per header, checksums, templates, and the signature that tells our frames from others.
//!
//! Pure: no I/O, no clock. Buffers hold a frame without its FCS, which the port or the kernel adds.
//!
//! Not supported yet: VLAN, MPLS, VXLAN, IPv6, TCP, IPv4 options.

pub mod checksum;
mod ethernet;
mod intact;
mod ipv4;
mod signature;
mod template;
mod udp;

pub use ethernet::{Ethernet, MacAddr};
pub use intact::is_intact;
pub use ipv4::Ipv4;
pub use signature::{SIGNATURE_BYTES, Signature, wrapping_elapsed_ns};
pub use template::{FCS_BYTES, SIGNATURE_OFFSET, Template, TemplateSpec};
pub use udp::Udp;

/// Why a frame cannot be built.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WireError {
    /// Not six hexadecimal bytes.
    #[error("MAC address {0:?}: expected six hexadecimal bytes such as 02:00:00:00:00:01")]
    Mac(String),
    /// Not a dotted quad.
    #[error("IPv4 address {0:?}: expected four decimal bytes such as 198.18.0.1")]
    Ipv4(String),
    /// The headers and the signature do not fit.
    #[error("frame of {asked} bytes: headers, signature and FCS need {smallest}")]
    TooSmall {
        /// Frame size asked for, with FCS.
        asked: usize,
        /// Smallest possible frame size, with FCS.
        smallest: usize,
    },
    /// The last flow's port would not fit 16 bits, or there is none.
    #[error("{flow_count} flows from UDP port {first}: at least one, and the last must not pass port 65535")]
    Flows {
        /// First UDP source port.
        first: u16,
        /// Flows asked for.
        flow_count: u16,
    },
}

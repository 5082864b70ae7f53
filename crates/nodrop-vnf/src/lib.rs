//! Forwarders that stand in for a VNF.
//!
//! So far the L2 cross-connect: what testpmd in `mac` mode is in a loopback VM.

mod l2;

pub use l2::{CrossConnect, PortConfig};

//! A stream's frame, built once; only flow, signature and checksum change from frame to frame.

use std::net::Ipv4Addr;

use crate::signature::{SIGNATURE_BYTES, Signature};
use crate::{Ethernet, Ipv4, MacAddr, Udp, WireError, checksum};

/// Length of the frame check sequence, which frame sizes count and buffers do not hold.
pub const FCS_BYTES: usize = 4;

/// Where the signature begins in a buffer.
pub const SIGNATURE_OFFSET: usize = UDP_OFFSET + Udp::BYTES;

const UDP_OFFSET: usize = Ethernet::BYTES + Ipv4::BYTES;
const SRC_PORT_OFFSET: usize = UDP_OFFSET;
const CHECKSUM_OFFSET: usize = UDP_OFFSET + 6;
const SMALLEST_FRAME_BYTES: usize = SIGNATURE_OFFSET + SIGNATURE_BYTES + FCS_BYTES;

/// The headers of a stream's frames.
#[derive(Clone, Debug)]
pub struct TemplateSpec {
    /// Carried in every frame.
    pub stream_id: u16,
    /// With FCS.
    pub frame_bytes: usize,
    /// Ethernet source.
    pub src_mac: MacAddr,
    /// Ethernet destination.
    pub dst_mac: MacAddr,
    /// IPv4 source.
    pub src_ip: Ipv4Addr,
    /// IPv4 destination.
    pub dst_ip: Ipv4Addr,
    /// UDP source port of flow 0; flow *i* uses this plus *i*.
    pub src_udp_port: u16,
    /// UDP destination port.
    pub dst_udp_port: u16,
    /// Flows taken in turn.
    pub flow_count: u16,
}

/// A frame ready to be copied and completed.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: Vec<u8>,
    stream_id: u16,
    first_port: u16,
    flow_count: u64,
    /// Checksum sum over everything but source port and live signature fields.
    static_sum: u64,
}

impl Template {
    /// Build a UDP/IPv4 frame.
    ///
    /// # Errors
    /// When the frame size is too small for its headers, or a flow's port would not fit.
    pub fn new(spec: &TemplateSpec) -> Result<Self, WireError> {
        if spec.frame_bytes < SMALLEST_FRAME_BYTES {
            return Err(WireError::TooSmall { asked: spec.frame_bytes, smallest: SMALLEST_FRAME_BYTES });
        }
        if spec.flow_count == 0 || spec.src_udp_port.checked_add(spec.flow_count - 1).is_none() {
            return Err(WireError::Flows { first: spec.src_udp_port, flow_count: spec.flow_count });
        }
        let payload_bytes = (spec.frame_bytes - FCS_BYTES - SIGNATURE_OFFSET) as u16;
        let udp = Udp { src_port: 0, dst_port: spec.dst_udp_port, payload_bytes };
        let ip = Ipv4 {
            src: spec.src_ip,
            dst: spec.dst_ip,
            protocol: Ipv4::UDP,
            payload_bytes: Udp::BYTES as u16 + payload_bytes,
        };
        let mut bytes = Vec::with_capacity(spec.frame_bytes);
        Ethernet { dst: spec.dst_mac, src: spec.src_mac, ether_type: Ethernet::IPV4 }.emit(&mut bytes);
        ip.emit(&mut bytes);
        udp.emit(&mut bytes);
        bytes.resize(spec.frame_bytes - FCS_BYTES, 0);
        Signature::emit_static(spec.stream_id, &mut bytes[SIGNATURE_OFFSET..]);
        let static_sum = ip.pseudo_sum() + checksum::sum(&bytes[UDP_OFFSET..]);
        Ok(Self {
            bytes,
            stream_id: spec.stream_id,
            first_port: spec.src_udp_port,
            flow_count: u64::from(spec.flow_count),
            static_sum,
        })
    }

    /// The frame before completion: what a buffer must hold before [`Template::complete`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The stream it was built for.
    #[must_use]
    pub fn stream_id(&self) -> u16 {
        self.stream_id
    }

    /// Turn a buffer that holds this template into frame `sequence` of the stream.
    #[inline]
    pub fn complete(&self, buffer: &mut [u8], sequence: u64, time_ns: u64, trial_tag: u8) {
        let signature = Signature { stream_id: self.stream_id, time_ns, trial_tag, sequence };
        let src_port = self.first_port + (sequence % self.flow_count) as u16;
        buffer[SRC_PORT_OFFSET..SRC_PORT_OFFSET + 2].copy_from_slice(&src_port.to_be_bytes());
        signature.emit_live(&mut buffer[SIGNATURE_OFFSET..]);
        let live = checksum::sum48(signature.time()) + checksum::sum48(signature.tail()) + u64::from(src_port);
        let checksum = match checksum::finish(self.static_sum + live) {
            0 => 0xffff, // RFC 768: a computed zero is sent as all ones, zero means "none"
            computed => computed,
        };
        buffer[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(frame_bytes: usize) -> TemplateSpec {
        TemplateSpec {
            stream_id: 7,
            frame_bytes,
            src_mac: MacAddr([2, 0, 0, 0, 0, 1]),
            dst_mac: MacAddr([2, 0, 0, 0, 0, 2]),
            src_ip: Ipv4Addr::new(198, 18, 0, 1),
            dst_ip: Ipv4Addr::new(198, 19, 255, 254),
            src_udp_port: 1024,
            dst_udp_port: 4242,
            flow_count: 256,
        }
    }

    fn udp_sum(frame: &[u8]) -> u64 {
        let udp_bytes = (frame.len() - UDP_OFFSET) as u64;
        checksum::sum(&frame[UDP_OFFSET..]) + checksum::sum(&frame[26..34]) + 17 + udp_bytes
    }

    #[test]
    fn a_64_byte_frame_holds_headers_and_signature_exactly() {
        let template = Template::new(&spec(64)).unwrap();
        assert_eq!(template.bytes().len(), 60);
        assert_eq!(SMALLEST_FRAME_BYTES, 64);
        let smaller = Template::new(&spec(63)).unwrap_err();
        assert_eq!(smaller, WireError::TooSmall { asked: 63, smallest: 64 });
    }

    #[test]
    fn every_completed_frame_has_a_right_udp_checksum() {
        for frame_bytes in [64, 65, 128, 1518, 9216] {
            let template = Template::new(&spec(frame_bytes)).unwrap();
            let mut frame = template.bytes().to_vec();
            for sequence in (0..5000).chain([1 << 33, (1 << 40) - 1]) {
                template.complete(&mut frame, sequence, 0x1_7777_0000_0000 + sequence * 977, 3);
                assert_eq!(checksum::finish(udp_sum(&frame)), 0, "{frame_bytes} bytes, sequence {sequence}");
            }
        }
    }

    #[test]
    fn flows_are_taken_in_turn_by_source_port() {
        let template = Template::new(&spec(64)).unwrap();
        let mut frame = template.bytes().to_vec();
        for (sequence, port) in [(0, 1024), (255, 1279), (256, 1024)] {
            template.complete(&mut frame, sequence, 0, 0);
            assert_eq!(u16::from_be_bytes([frame[34], frame[35]]), port);
        }
        let too_many = Template::new(&TemplateSpec { src_udp_port: 65535, flow_count: 2, ..spec(64) }).unwrap_err();
        assert_eq!(too_many, WireError::Flows { first: 65535, flow_count: 2 });
    }

    #[test]
    fn a_completed_frame_says_who_it_is() {
        let template = Template::new(&spec(128)).unwrap();
        let mut frame = template.bytes().to_vec();
        template.complete(&mut frame, 99, 123_456_789, 5);
        let found = Signature::parse(&frame[SIGNATURE_OFFSET..]);
        assert_eq!(found, Some(Signature { stream_id: 7, time_ns: 123_456_789, trial_tag: 5, sequence: 99 }));
    }
}

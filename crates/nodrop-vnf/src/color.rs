//! The color of a frame in its headers: DEI of a tagged frame, DSCP of an IP packet without a tag.

use crate::{Color, ipv4};

/// Offset of the EtherType.
const TYPE_AT: usize = 12;
/// Offset of the IP header, and of a tag's control information.
const PAYLOAD_AT: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
/// Drop eligible indicator in the first byte of a tag's control information (IEEE 802.1Q clause 9.6).
const DEI: u8 = 0x10;
/// Assured forwarding of class 1 with low and medium drop precedence (RFC 2597 section 6): a green, a yellow frame.
const AF11: u8 = 10;
const AF12: u8 = 12;

/// Return the color of a frame on arrival: yellow by DEI or AF12, else green.
pub(crate) fn read_color(frame: &[u8]) -> Color {
    let is_yellow = match (frame_type(frame), frame.get(PAYLOAD_AT..)) {
        (Some(tag), Some([control, ..])) if TAGS.contains(&tag) => control & DEI != 0,
        (Some(IPV4), Some([_, service, ..])) => service >> 2 == AF12,
        (Some(IPV6), Some([first, second, ..])) => (first & 0x0f) << 2 | second >> 6 == AF12,
        _ => false,
    };
    if is_yellow { Color::Yellow } else { Color::Green }
}

/// Write whether a frame is yellow, else green; one without a tag that is no IP packet is left as it is.
pub(crate) fn write_color(frame: &mut [u8], color: Color) {
    let (dei, dscp) = if color == Color::Yellow { (DEI, AF12) } else { (0, AF11) };
    let frame_type = frame_type(frame);
    let Some(payload) = frame.get_mut(PAYLOAD_AT..) else { return };
    match (frame_type, payload) {
        (Some(tag), [control, ..]) if TAGS.contains(&tag) => *control = *control & !DEI | dei,
        (Some(IPV4), packet) => ipv4::set_dscp(packet, dscp),
        // The traffic class is between two half bytes of version and flow label (RFC 8200 section 3).
        (Some(IPV6), [first, second, ..]) => {
            *first = *first & 0xf0 | dscp >> 2;
            *second = *second & 0x3f | dscp << 6;
        }
        _ => {}
    }
}

fn frame_type(frame: &[u8]) -> Option<[u8; 2]> {
    frame.get(TYPE_AT..PAYLOAD_AT)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    use nodrop_wire::checksum;

    const ECN_BITS: u8 = 3;

    fn frame(kind: [u8; 2], payload: &[u8]) -> Vec<u8> {
        [&[0; 12][..], &kind, payload].concat()
    }

    #[test]
    fn a_color_is_read_as_written_and_other_fields_are_as_before() {
        for (kind, payload, green, yellow) in [
            (IPV6, [0x6e, 0xff, 9, 9], [0x62, 0xbf, 9, 9], [0x63, 0x3f, 9, 9]),
            ([0x81, 0x00], [0xe0, 7, 8, 0], [0xe0, 7, 8, 0], [0xf0, 7, 8, 0]),
            ([0x88, 0xa8], [0x0f, 7, 8, 0], [0x0f, 7, 8, 0], [0x1f, 7, 8, 0]),
        ] {
            let mut bytes = frame(kind, &payload);
            assert_eq!(read_color(&bytes), Color::Green);
            for (color, expected) in [(Color::Yellow, yellow), (Color::Green, green)] {
                write_color(&mut bytes, color);
                assert_eq!(bytes, frame(kind, &expected));
                assert_eq!(read_color(&bytes), color);
            }
        }
    }

    #[test]
    fn an_ipv4_packet_with_a_color_keeps_its_ecn_and_has_a_valid_checksum() {
        for service in 0..=u8::MAX {
            let mut header = [0x45, service, 0, 46, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 19, 0, 1];
            let sum = checksum::finish(checksum::sum(&header));
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            let mut bytes = frame(IPV4, &header);
            for (color, dscp) in [(Color::Yellow, AF12), (Color::Green, AF11)] {
                write_color(&mut bytes, color);
                assert_eq!(bytes[15], dscp << 2 | service & ECN_BITS);
                assert_eq!(checksum::finish(checksum::sum(&bytes[14..])), 0, "{service}");
                assert_eq!(read_color(&bytes), color);
            }
        }
    }

    #[test]
    fn other_frames_are_green_and_stay_as_they_are() {
        for (kind, payload) in [(IPV4, &[0x45, 14 << 2][..]), ([0x08, 0x06], &[AF12 << 2; 8])] {
            assert_eq!(read_color(&frame(kind, payload)), Color::Green);
        }
        for bytes in [frame([0x08, 0x06], &[0; 28]), frame(IPV4, &[0x45]), frame(IPV6, &[0x60]), vec![0; 13]] {
            let mut marked = bytes.clone();
            write_color(&mut marked, Color::Yellow);
            assert_eq!(marked, bytes);
        }
    }
}

//! Independent frame parser by RFC 791, 768, 9293, 792, 4443, 4861, 8200, 3032, 7348, 2890 and IEEE 802.1Q; fails on
//! any wrong length or checksum.

/// Return the end of a frame's headers.
pub fn read(frame: &[u8]) -> usize {
    read_ethernet(frame, 0)
}

/// Return two bytes as a number.
pub fn word(frame: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]))
}

fn read_ethernet(frame: &[u8], at: usize) -> usize {
    read_type(frame, at + 14, word(frame, at + 12))
}

fn read_type(frame: &[u8], at: usize, ether_type: usize) -> usize {
    match ether_type {
        0x8100 | 0x88a8 => read_type(frame, at + 4, word(frame, at + 2)),
        0x8847 if frame[at + 2] & 1 == 0 => read_type(frame, at + 4, ether_type),
        0x8847 => read_type(frame, at + 4, if frame[at + 4] >> 4 == 4 { 0x0800 } else { 0x86dd }),
        0x0800 => {
            assert_eq!((frame[at], word(frame, at + 2)), (0x45, frame.len() - at), "IPv4 header and total length");
            assert_eq!(ones_sum(&frame[at..at + 20]), 0xffff, "IPv4 header checksum");
            read_protocol(frame, at + 20, frame[at + 9], frame.len(), &frame[at + 12..at + 20])
        }
        0x86dd => {
            let end = at + 40 + word(frame, at + 4);
            let is_nd = frame[at + 6] == 58 && [135, 136].contains(&frame[at + 40]);
            assert_eq!((frame[at] >> 4, end == frame.len() || is_nd), (6, true), "IPv6 version and payload length");
            read_protocol(frame, at + 40, frame[at + 6], end, &frame[at + 8..at + 40])
        }
        0x6558 => read_ethernet(frame, at),
        other => panic!("EtherType {other:#x}"),
    }
}

fn read_protocol(frame: &[u8], at: usize, protocol: u8, end: usize, addresses: &[u8]) -> usize {
    let packet = &frame[at..end];
    let covered = ones_sum(&[addresses, &[0, protocol], &(packet.len() as u16).to_be_bytes(), packet].concat());
    match protocol {
        17 => read_udp(frame, at, covered, addresses.len() == 32),
        6 => {
            assert_eq!((covered, packet[12]), (0xffff, 0x50), "TCP checksum and data offset");
            at + 20
        }
        1 => {
            assert_eq!((ones_sum(packet), packet[0]), (0xffff, 8), "ICMP checksum and type");
            at + 8
        }
        58 if packet[0] == 128 => {
            assert_eq!(covered, 0xffff, "ICMPv6 checksum");
            at + 8
        }
        58 => {
            assert_eq!((covered, packet.len(), packet[25]), (0xffff, 32, 1), "neighbor discovery");
            end
        }
        47 => {
            let has_key = frame[at] & 0x20 != 0;
            read_type(frame, at + if has_key { 8 } else { 4 }, word(frame, at + 2))
        }
        other => panic!("IP protocol {other}"),
    }
}

fn read_udp(frame: &[u8], at: usize, covered: u32, is_v6: bool) -> usize {
    assert_eq!(word(frame, at + 4), frame.len() - at, "UDP length");
    let is_vxlan = word(frame, at + 2) == 4789;
    if is_vxlan && !is_v6 {
        assert_eq!(word(frame, at + 6), 0, "no UDP checksum in front of VXLAN over IPv4");
    } else if frame.len() == at + 8 && !is_v6 {
        assert_eq!(word(frame, at + 6), 0, "no checksum of a datagram that has its signature in headers");
    } else {
        assert_eq!((covered, word(frame, at + 6) != 0), (0xffff, true), "UDP checksum");
    }
    if is_vxlan { read_ethernet(frame, at + 16) } else { at + 8 }
}

/// RFC 1071 section 4.1, as printed there.
fn ones_sum(bytes: &[u8]) -> u32 {
    let pair = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    let mut sum: u32 = bytes.chunks(2).map(pair).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

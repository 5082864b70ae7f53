//! What a stream's frames are made of.

use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One stream: frames of the same headers from one port to another.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// Carried in every frame; unique among the open streams.
    pub stream_id: u16,
    /// Index of the sending port.
    pub tx_port: usize,
    /// Index of the port the frames must arrive at.
    pub rx_port: usize,
    /// Sizes of its frames, at least one; of replayed ones none.
    pub sizes: Vec<SizeShare>,
    /// In which order the sizes come.
    #[serde(default)]
    pub size_order: SizeOrder,
    /// Headers, outermost first; the first is Ethernet. The signature and padding follow the last one. Of replayed frames
    /// only Ethernet, for the addresses they are sent with, or nothing, for them to keep their own.
    pub layers: Vec<Layer>,
    /// Fields that change from frame to frame, at most 8.
    #[serde(default)]
    pub ranges: Vec<FieldRange>,
    /// Where else the signature may begin in a frame that arrives, because the SUT adds or removes headers.
    #[serde(default)]
    pub rx_offsets: Vec<u16>,
    /// Take the frames from a file instead.
    #[serde(default)]
    pub replay: Option<ReplaySpec>,
}

/// Frames of a capture file, sent in its order again and again. The signature goes behind the last header known of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaySpec {
    /// A pcap or pcapng file of Ethernet frames.
    pub file: String,
    /// Only frames that this lets through, in the syntax of pcap-filter(7); needs libpcap.
    #[serde(default)]
    pub filter: Option<String>,
    /// The first so many, up to 65536; left out: all, which must not be more.
    #[serde(default)]
    pub frame_count_max: Option<u32>,
}

impl StreamSpec {
    /// UDP over IPv4 over Ethernet from `tx_port` to `rx_port`, between addresses for benchmarks (RFC 2544 appendix C.2.2),
    /// with `flow_count` source ports in turn.
    #[must_use]
    pub fn udp(stream_id: u16, tx_port: usize, rx_port: usize, frame_bytes: u16, flow_count: u32) -> Self {
        let mac = |port: usize| format!("02:6e:64:00:00:{port:02x}");
        let address = |port: usize| Ipv4Addr::new(198, 18 + (port & 1) as u8, 0, 1);
        Self {
            stream_id,
            tx_port,
            rx_port,
            sizes: vec![SizeShare { frame_bytes, weight: 1 }],
            size_order: SizeOrder::Mixed,
            layers: vec![
                Layer::Ethernet(Ethernet { src: mac(tx_port), dst: mac(rx_port) }),
                Layer::Ipv4(Ipv4 { src: address(tx_port), dst: address(rx_port), dscp: 0, ttl: ttl() }),
                Layer::Udp(Udp { src_port: 0xc000, dst_port: 9 }),
            ],
            ranges: vec![FieldRange {
                layer: 2,
                field: Field::SrcPort,
                values: FieldValues::Increment { count: flow_count, step: 1 },
                every: 1,
                period: None,
            }],
            rx_offsets: Vec::new(),
            replay: None,
        }
    }
}

/// A frame size and how often it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// With FCS.
    pub frame_bytes: u16,
    /// So many frames of the repeating order; at least 1.
    #[serde(default = "one")]
    pub weight: u32,
}

/// In which order sizes come; the order repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeOrder {
    /// Each as evenly spread as can be.
    #[default]
    Mixed,
    /// As they are listed, each `weight` times in a row.
    Listed,
}

/// A header. What follows from its neighbours is not said: next protocols, lengths, checksums, MPLS bottom of stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Layer {
    /// IEEE 802.3.
    Ethernet(Ethernet),
    /// IEEE 802.1Q C-tag.
    Vlan(Vlan),
    /// IEEE 802.1ad S-tag, in front of a C-tag.
    Qinq(Vlan),
    /// RFC 3032 label.
    Mpls(Mpls),
    /// RFC 791 without options.
    Ipv4(Ipv4),
    /// RFC 8200 without extension headers.
    Ipv6(Ipv6),
    /// RFC 768.
    Udp(Udp),
    /// RFC 9293 without options or state.
    Tcp(Tcp),
    /// RFC 792 or RFC 4443 echo request, by the IP version below.
    IcmpEcho(IcmpEcho),
    /// RFC 7348; an inner Ethernet header follows.
    Vxlan(Vxlan),
    /// RFC 2784 and RFC 2890.
    Gre(Gre),
    /// RFC 826; the signature is in the padding of the frame.
    Arp(Arp),
    /// RFC 4861 neighbour solicitation or advertisement; the signature is behind the IPv6 packet.
    Nd(Nd),
}

/// Addresses as `aa:bb:cc:dd:ee:ff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ethernet {
    /// Source.
    pub src: String,
    /// Destination.
    pub dst: String,
}

/// A VLAN tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vlan {
    /// VLAN, 12 bits.
    pub id: u16,
    /// Priority, 3 bits.
    #[serde(default)]
    pub pcp: u8,
    /// Drop eligible.
    #[serde(default)]
    pub dei: bool,
}

/// An entry of an MPLS label stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mpls {
    /// 20 bits.
    pub label: u32,
    /// Traffic class, 3 bits.
    #[serde(default)]
    pub tc: u8,
    /// Time to live.
    #[serde(default = "ttl")]
    pub ttl: u8,
}

/// An IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ipv4 {
    /// Source.
    pub src: Ipv4Addr,
    /// Destination.
    pub dst: Ipv4Addr,
    /// Differentiated services code point, 6 bits.
    #[serde(default)]
    pub dscp: u8,
    /// Time to live.
    #[serde(default = "ttl")]
    pub ttl: u8,
}

/// An IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ipv6 {
    /// Source.
    pub src: Ipv6Addr,
    /// Destination.
    pub dst: Ipv6Addr,
    /// Differentiated services code point, 6 bits.
    #[serde(default)]
    pub dscp: u8,
    /// 20 bits.
    #[serde(default)]
    pub flow_label: u32,
    /// Hop limit.
    #[serde(default = "ttl")]
    pub hop_limit: u8,
}

/// A UDP header. In front of VXLAN over IPv4 its checksum is zero (RFC 7348 section 5), else computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Udp {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
}

/// A TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Control bits; 0x10 is ACK alone, 0x02 SYN.
    #[serde(default = "ack")]
    pub flags: u8,
    /// Sequence number.
    #[serde(default)]
    pub sequence: u32,
}

/// An ICMP or ICMPv6 echo request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IcmpEcho {
    /// Identifier.
    #[serde(default)]
    pub identifier: u16,
    /// Sequence number.
    #[serde(default)]
    pub sequence: u16,
}

/// A VXLAN header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vxlan {
    /// Network identifier, 24 bits.
    pub vni: u32,
}

/// A GRE header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gre {
    /// Key; none leaves the field out.
    #[serde(default)]
    pub key: Option<u32>,
}

/// An ARP packet for IPv4 over Ethernet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arp {
    /// 1 request, 2 reply.
    pub operation: u16,
    /// Sender's MAC.
    pub sender_mac: String,
    /// Sender's address.
    pub sender_ip: Ipv4Addr,
    /// Target's MAC.
    pub target_mac: String,
    /// Target's address.
    pub target_ip: Ipv4Addr,
}

/// A neighbour discovery message with one link-layer address option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nd {
    /// An advertisement that overrides what was known; else a solicitation.
    #[serde(default)]
    pub advertises: bool,
    /// Whether an advertisement answers a solicitation.
    #[serde(default = "yes")]
    pub solicited: bool,
    /// Whose MAC is asked for or told.
    pub target: Ipv6Addr,
    /// MAC of the sender, or in an advertisement of the target.
    pub mac: String,
}

/// A field that changes from frame to frame. IPv6 addresses change in their lower half, except in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldRange {
    /// Index of the layer.
    pub layer: usize,
    /// Field of that layer.
    pub field: Field,
    /// Its values, taken in turn.
    pub values: FieldValues,
    /// Frames that each value stays for; values in turn times this is at most 2^23.
    #[serde(default = "one")]
    pub every: u32,
    /// Frames after which it begins again with its first value, whether or not it has gone through; at most 2^23. Left out:
    /// when it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u32>,
}

/// A field that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Source of Ethernet, IPv4, IPv6.
    Src,
    /// Destination of Ethernet, IPv4, IPv6.
    Dst,
    /// Of UDP, TCP.
    SrcPort,
    /// Of UDP, TCP.
    DstPort,
    /// Of a VLAN tag.
    Id,
    /// Of MPLS.
    Label,
    /// Of VXLAN.
    Vni,
    /// Of GRE.
    Key,
    /// Of an ICMP echo.
    Identifier,
    /// Of IPv6.
    FlowLabel,
}

/// The values of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum FieldValues {
    /// The layer's own value, then `step` more each time.
    Increment {
        /// How many values.
        count: u32,
        /// From one to the next.
        #[serde(default = "step")]
        step: u64,
    },
    /// These.
    List {
        /// In this order; addresses as text, all else as numbers.
        values: Vec<FieldValue>,
    },
    /// Different values in an order without a pattern, out of the `span` that begin with the layer's own.
    Random {
        /// How many values.
        count: u32,
        /// Out of how many; at least `count`.
        span: u64,
        /// The same seed gives the same values.
        seed: u64,
    },
}

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FieldValue {
    /// Of a field that is a number.
    Number(u64),
    /// Of a field that is an address.
    Address(String),
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn step() -> u64 {
    1
}

fn ttl() -> u8 {
    64
}

fn ack() -> u8 {
    0x10
}

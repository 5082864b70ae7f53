//! Frames of a stream.

use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One stream: frames with the same headers from one port to another.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// Identifier carried in every frame; unique among the open streams.
    pub stream_id: u16,
    /// Index of the sending port.
    pub tx_port: usize,
    /// Index of the port at which the frames must arrive.
    pub rx_port: usize,
    /// Frame sizes, at least one; empty for a replayed file.
    pub sizes: Vec<SizeShare>,
    /// Order of the sizes.
    #[serde(default)]
    pub size_order: SizeOrder,
    /// Headers, outermost first; the first is Ethernet. Signature and padding follow the last header. For replayed
    /// frames only an Ethernet header with the addresses to send with, or nothing to keep the original addresses.
    pub layers: Vec<Layer>,
    /// Form of the signature; the same in all streams.
    #[serde(default)]
    pub signature: SignatureForm,
    /// Fields that change from frame to frame; at most 8.
    #[serde(default)]
    pub ranges: Vec<FieldRange>,
    /// Additional offsets at which the signature may begin in received frames, because the SUT adds or removes headers.
    #[serde(default)]
    pub rx_offsets: Vec<u16>,
    /// Fields that the SUT writes, as they must arrive; compared in a sample of the frames.
    #[serde(default)]
    pub arrival_fields: Vec<ArrivalField>,
    /// Replay a file instead.
    #[serde(default)]
    pub replay: Option<ReplaySpec>,
}

/// Where frames carry their signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignatureForm {
    /// 18 bytes behind the last header.
    #[default]
    Payload,
    /// Fields of the last two headers, IPv4 and UDP: no payload, hence the smallest frames, but no send time, hence no
    /// latency. Stream ids up to 255, at most 2^32 frames per trial.
    Headers,
}

/// A field of received frames whose value depends on the frame's number in its stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrivalField {
    /// What the offset counts from.
    pub anchor: Anchor,
    /// Offset of the field's first byte; negative before the signature.
    pub offset: i32,
    /// Length in bytes, 1 to 8.
    pub width: u8,
    /// Bits to compare, within the field's bytes as a number.
    pub mask: u64,
    /// Values of consecutive frames.
    pub values: ArrivalValues,
}

/// Origin of an offset in a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// The first byte of the frame, as on the wire: with a tag that the kernel removed.
    Start,
    /// The first byte of the signature.
    Signature,
}

/// Values of an arrival field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum ArrivalValues {
    /// The same in every frame.
    Constant {
        /// The value.
        value: u64,
    },
    /// As `masked` values of a field of the sent frame, from `first`.
    Masked {
        /// Value for the number 0.
        first: u64,
        /// Number of values.
        count: u32,
        /// Size of the range that numbers are drawn from.
        span: u64,
        /// Seed of the numbers.
        seed: u64,
        /// Lowest bits of each number that are not used.
        #[serde(default)]
        skip_bits: u32,
        /// Bits that the number is distributed over.
        mask: u64,
    },
    /// An entry of a table for each number of `random` or `masked` values of the sent frame.
    Table {
        /// The entries.
        entries: Vec<u64>,
        /// Number of values.
        count: u32,
        /// Size of the range that numbers are drawn from.
        span: u64,
        /// Seed of the numbers.
        seed: u64,
        /// Lowest bits of each number that are not used; the rest, modulo the length of the table, is the index.
        #[serde(default)]
        skip_bits: u32,
    },
}

/// Frames of a capture file, sent repeatedly in file order. The signature follows the last recognized header of each
/// frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaySpec {
    /// A pcap or pcapng file of Ethernet frames.
    pub file: String,
    /// Use only frames that match this filter (syntax of pcap-filter(7)); needs libpcap.
    #[serde(default)]
    pub filter: Option<String>,
    /// Use only the first N frames, up to 65536. Default: all frames, which must not exceed that limit.
    #[serde(default)]
    pub frame_count_max: Option<u32>,
}

impl StreamSpec {
    /// Return a stream of UDP over IPv4 over Ethernet from `tx_port` to `rx_port`, between benchmarking addresses (RFC
    /// 2544 appendix C.2.2), cycling through `flow_count` source ports.
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
            signature: SignatureForm::Payload,
            rx_offsets: Vec::new(),
            arrival_fields: Vec::new(),
            replay: None,
        }
    }
}

/// A frame size and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// Frame size with FCS.
    pub frame_bytes: u16,
    /// Number of frames of this size in one cycle of the order; at least 1.
    #[serde(default = "one")]
    pub weight: u32,
}

/// Order of the sizes; the order repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeOrder {
    /// Sizes spread as evenly as possible.
    #[default]
    Mixed,
    /// Sizes in the order listed, each `weight` times in a row.
    Listed,
}

/// A header. Next protocols, lengths, checksums and the MPLS bottom-of-stack bit follow from its neighbors.
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
    /// RFC 4861 neighbor solicitation or advertisement; the signature is behind the IPv6 packet.
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

/// A UDP header. Its checksum is zero in front of VXLAN over IPv4 (RFC 7348 section 5), otherwise computed.
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
    /// Key; None omits the field.
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

/// A neighbor discovery message with one link-layer address option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nd {
    /// Whether the message is an advertisement with the override flag; otherwise a solicitation.
    #[serde(default)]
    pub advertises: bool,
    /// Whether an advertisement answers a solicitation.
    #[serde(default = "default_true")]
    pub solicited: bool,
    /// Address that the message asks about or advertises.
    pub target: Ipv6Addr,
    /// MAC address of the sender, or of the target in an advertisement.
    pub mac: String,
}

/// A field that changes from frame to frame. For IPv6 addresses only the lower half changes, except in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldRange {
    /// Index of the layer.
    pub layer: usize,
    /// Field of that layer.
    pub field: Field,
    /// Values to cycle through.
    pub values: FieldValues,
    /// Number of consecutive frames with the same value; the number of values times `every` is at most 2^23.
    #[serde(default = "one")]
    pub every: u32,
    /// Number of frames after which the sequence restarts, even if it is not complete; at most 2^23. Default: when
    /// complete.
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
    /// Source port of UDP, TCP.
    SrcPort,
    /// Destination port of UDP, TCP.
    DstPort,
    /// VLAN identifier.
    Id,
    /// MPLS label.
    Label,
    /// VXLAN network identifier.
    Vni,
    /// GRE key.
    Key,
    /// ICMP echo identifier.
    Identifier,
    /// IPv6 flow label.
    FlowLabel,
}

/// The values of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum FieldValues {
    /// The layer's own value, then `step` more each time.
    Increment {
        /// Number of values.
        count: u32,
        /// Difference between consecutive values.
        #[serde(default = "step")]
        step: u64,
    },
    /// Explicit values.
    List {
        /// Values, in order; addresses as text, other fields as numbers.
        values: Vec<FieldValue>,
    },
    /// Distinct pseudo-random values out of the `span` values that begin with the layer's own.
    Random {
        /// Number of values.
        count: u32,
        /// Size of the range to draw from; at least `count`.
        span: u64,
        /// The same seed gives the same values.
        seed: u64,
    },
    /// The layer's own value plus numbers as with `random`, from 0, whose bits are distributed over the bits of a mask.
    /// Fields with the same count, span and seed have parts of the same number.
    Masked {
        /// Number of values.
        count: u32,
        /// Size of the range to draw from; at least `count`.
        span: u64,
        /// The same seed gives the same numbers.
        seed: u64,
        /// Lowest bits of each number that this field does not use.
        #[serde(default)]
        skip_bits: u32,
        /// Bits that the number is distributed over; the lowest takes the lowest bit used.
        mask: u64,
    },
}

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FieldValue {
    /// Value of a numeric field.
    Number(u64),
    /// Value of an address field.
    Address(String),
}

fn default_true() -> bool {
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

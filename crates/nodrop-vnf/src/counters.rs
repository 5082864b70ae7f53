//! What a forwarder did with the frames that came in.

/// Why a frame went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The receive ring was full when it arrived; counted by the kernel, which is the one who dropped it.
    ReceiveDropped,
    /// Longer than the forwarder takes.
    TooLong,
    /// Too short for its headers, or its lengths contradict each other.
    Malformed,
    /// Addressed to another station.
    NotForUs,
    /// Neither IPv4 nor IPv6.
    NotIp,
    /// The IPv4 header does not match its checksum.
    BadChecksum,
    /// Its time to live was over.
    TtlExpired,
    /// Addressed to the router itself, or to a group of stations.
    NotForwardable,
    /// No route leads to its destination.
    NoRoute,
    /// The next hop's MAC address is not known yet; it was asked for.
    Unresolved,
    /// Of a VLAN, or without one, that leads nowhere.
    UnknownVlan,
    /// Addressed to a station that is nobody's here.
    UnknownStation,
    /// The port it was to leave by did not take it.
    SendDropped,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 13] = [
        Self::ReceiveDropped,
        Self::TooLong,
        Self::Malformed,
        Self::NotForUs,
        Self::NotIp,
        Self::BadChecksum,
        Self::TtlExpired,
        Self::NotForwardable,
        Self::NoRoute,
        Self::Unresolved,
        Self::UnknownVlan,
        Self::UnknownStation,
        Self::SendDropped,
    ];

    /// Its name in what the forwarder tells.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReceiveDropped => "receive_dropped",
            Self::TooLong => "too_long",
            Self::Malformed => "malformed",
            Self::NotForUs => "not_for_us",
            Self::NotIp => "not_ip",
            Self::BadChecksum => "bad_checksum",
            Self::TtlExpired => "ttl_expired",
            Self::NotForwardable => "not_forwardable",
            Self::NoRoute => "no_route",
            Self::Unresolved => "unresolved",
            Self::UnknownVlan => "unknown_vlan",
            Self::UnknownStation => "unknown_station",
            Self::SendDropped => "send_dropped",
        }
    }
}

/// Frames of one port since the start.
///
/// Over all ports: `received + originated = sent + consumed + dropped`, those apart that the ring had no room for, which
/// are not among the received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Taken from this port's ring.
    pub received: u64,
    /// Left by this port.
    pub sent: u64,
    /// Came in here and were for the forwarder itself.
    pub consumed: u64,
    /// Answers and questions of the forwarder itself that left by this port, and copies of frames that left by others as well.
    pub originated: u64,
    dropped: [u64; Cause::ALL.len()],
}

impl Counters {
    /// Count `count` frames that came in here, or were to leave here, as dropped.
    #[inline]
    pub fn drop(&mut self, cause: Cause, count: u64) {
        self.dropped[cause as usize] += count;
    }

    /// Frames dropped for `cause`.
    #[must_use]
    pub fn dropped(&self, cause: Cause) -> u64 {
        self.dropped[cause as usize]
    }

    /// Every counter by its name, always in the same order.
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let kept = [
            ("received", self.received),
            ("sent", self.sent),
            ("consumed", self.consumed),
            ("originated", self.originated),
        ];
        kept.into_iter().chain(Cause::ALL.into_iter().map(|cause| (cause.name(), self.dropped(cause))))
    }
}

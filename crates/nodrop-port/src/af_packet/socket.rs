//! A bound packet socket and its options.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::{PortError, interface_index};

const RAW_REMEDY: &str =
    "raw access needs CAP_NET_RAW in the interface's network namespace: run as root or in a nodrop lab";

/// A `PF_PACKET`/`SOCK_RAW` socket.
#[derive(Debug)]
pub(super) struct PacketSocket {
    fd: OwnedFd,
    pub(super) interface: String,
    index: libc::c_int,
}

impl PacketSocket {
    /// Open a socket that does not receive yet.
    pub(super) fn open(interface: &str) -> Result<Self, PortError> {
        let index = interface_index(interface)?;
        // SAFETY: socket takes integers only; the result is checked before it becomes an owned descriptor.
        let fd = unsafe { libc::socket(libc::PF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(PortError::last_os(interface, "open a packet socket", RAW_REMEDY));
        }
        // SAFETY: `fd` was just opened and has no other owner.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) }, interface: interface.to_owned(), index })
    }

    pub(super) fn raw(&self) -> libc::c_int {
        self.fd.as_raw_fd()
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Bind to the interface; `protocol` 0 sends only, `ETH_P_ALL` receives everything.
    pub(super) fn bind(&self, protocol: u16) -> Result<(), PortError> {
        // SAFETY: an all-zero sockaddr_ll is valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = self.index;
        // SAFETY: `address` outlives the call and its size is passed along.
        let result = unsafe {
            libc::bind(self.raw(), (&raw const address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t)
        };
        if result == 0 {
            Ok(())
        } else {
            Err(self.failed("bind to the interface", "the interface must exist and be up"))
        }
    }

    /// Set a socket option; `action` and `remedy` go into the error.
    pub(super) fn set<T>(
        &self,
        level: libc::c_int,
        option: libc::c_int,
        value: &T,
        action: &'static str,
        remedy: &'static str,
    ) -> Result<(), PortError> {
        // SAFETY: `value` is valid for reads of its size for the length of the call.
        let result = unsafe {
            libc::setsockopt(self.raw(), level, option, (&raw const *value).cast(), size_of::<T>() as libc::socklen_t)
        };
        if result == 0 { Ok(()) } else { Err(self.failed(action, remedy)) }
    }

    /// Receive frames for any MAC address: test frames use addresses other than the interface's.
    pub(super) fn promiscuous(&self) -> Result<(), PortError> {
        // SAFETY: an all-zero packet_mreq is valid.
        let mut request: libc::packet_mreq = unsafe { std::mem::zeroed() };
        request.mr_ifindex = self.index;
        request.mr_type = libc::PACKET_MR_PROMISC as u16;
        self.set(
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            &request,
            "receive frames for other MAC addresses",
            "the interface must allow promiscuous mode",
        )
    }

    /// Attach a filter that makes the kernel drop frames without `magic` at one of `offsets`, before they reach the
    /// socket.
    pub(super) fn filter_by_magic(&self, magic: u32, offsets: &[usize]) -> Result<(), PortError> {
        let op = |code: u32, jump_false: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: jump_false, k };
        // The kernel drops a frame that ends before a loaded offset at once, so the smallest offset comes first.
        let mut offsets = offsets.to_vec();
        offsets.sort_unstable();
        let mut program: Vec<libc::sock_filter> = offsets
            .into_iter()
            .flat_map(|offset| {
                [
                    op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, offset as u32),
                    op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, magic),
                    op(libc::BPF_RET | libc::BPF_K, 0, u32::MAX),
                ]
            })
            .collect();
        program.push(op(libc::BPF_RET | libc::BPF_K, 0, 0));
        self.filter(program)
    }

    /// Attach a filter program that runs in the kernel before frames reach the socket.
    pub(super) fn filter(&self, mut program: Vec<libc::sock_filter>) -> Result<(), PortError> {
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter, "attach a packet filter", RAW_REMEDY)
    }

    /// Return the interface's MAC address.
    pub(super) fn hardware_address(&self) -> Result<[u8; 6], PortError> {
        // SAFETY: an all-zero ifreq is valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(self.interface.bytes()) {
            *to = from as libc::c_char;
        }
        // SAFETY: SIOCGIFHWADDR reads the name and writes the address of the ifreq it is given.
        let data = unsafe {
            if libc::ioctl(self.raw(), libc::SIOCGIFHWADDR, &raw mut request) != 0 {
                return Err(self.failed("read its MAC address", "the interface must exist"));
            }
            request.ifr_ifru.ifru_hwaddr.sa_data
        };
        Ok(std::array::from_fn(|at| data[at] as u8))
    }

    pub(super) fn failed(&self, action: &'static str, remedy: &'static str) -> PortError {
        PortError::last_os(&self.interface, action, remedy)
    }
}

/// Keeps an interface in promiscuous mode until dropped.
#[derive(Debug)]
pub struct PromiscuousMode {
    _socket: PacketSocket,
}

impl PromiscuousMode {
    /// Enable promiscuous mode.
    ///
    /// # Errors
    /// If the interface does not exist or the kernel denies raw access.
    pub fn new(interface: &str) -> Result<Self, PortError> {
        let socket = PacketSocket::open(interface)?;
        socket.promiscuous()?;
        Ok(Self { _socket: socket })
    }
}

//! An AF_XDP socket: memory and four rings, bound to one queue of an interface.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::MAX_BATCH;
use super::ring::{Consumer, Producer};
use super::umem::Umem;
use crate::memory::Pages;
use crate::{PortError, interface_index};

const REMEDY: &str = "needs CAP_NET_RAW, a kernel with CONFIG_XDP_SOCKETS, an interface that is up, and a queue that no other \
     socket uses; locked memory may be limited (`ulimit -l`)";

/// Longest time for which a queue stays busy after its socket: `xp_put_pool` leaves it to a work item
/// (`xp_release_deferred`), which takes the RTNL, so a killed process is gone before its queue is free.
const RELEASE_MAX: Duration = Duration::from_secs(2);

/// linux/if_xdp.h, since Linux 6.17.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// Sizes of the rings, in entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingSizes {
    /// Receive ring.
    pub(super) rx: u32,
    /// Send ring; 0 for a receive-only socket.
    pub(super) tx: u32,
}

/// Rings of the sending side.
#[derive(Debug)]
pub(super) struct SendRings {
    pub(super) descriptors: Producer<libc::xdp_desc>,
    pub(super) completed: Consumer<u64>,
    pub(super) slots: u32,
}

/// Rings of the receiving side.
#[derive(Debug)]
pub(super) struct ReceiveRings {
    pub(super) descriptors: Consumer<libc::xdp_desc>,
    pub(super) fill: Producer<u64>,
    pub(super) slots: u32,
    /// Offset of the receiver's first chunk.
    pub(super) base: u64,
}

/// A bound socket. Each half takes its rings once.
#[derive(Debug)]
pub(super) struct XdpSocket {
    fd: OwnedFd,
    pub(super) interface: String,
    pub(super) queue: u32,
    pub(super) umem: Umem,
    send: Mutex<Option<SendRings>>,
    receive: Mutex<Option<ReceiveRings>>,
}

impl XdpSocket {
    /// Open a socket and bind it to a queue; received frames may have up to `frame_bytes`.
    pub(super) fn open(
        interface: &str,
        queue: u32,
        sizes: RingSizes,
        frame_bytes: usize,
        pages: Pages,
        flags: u16,
    ) -> Result<Self, PortError> {
        let index = interface_index(interface)?;
        // SAFETY: socket takes integers only; the result is checked before it becomes an owned descriptor.
        let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(PortError::last_os(interface, "open an AF_XDP socket", REMEDY));
        }
        // SAFETY: `fd` was just opened and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let umem = Umem::new(interface, frame_bytes, (sizes.rx + sizes.tx) as usize, pages)?;
        let unbound = UnboundSocket { fd: &fd, interface };
        unbound.set_rings(&umem, sizes)?;
        let (send, receive) = unbound.map_rings(&umem, sizes)?;
        unbound.bind(index, queue, flags)?;
        let interface = interface.to_owned();
        Ok(Self { fd, interface, queue, umem, send: Mutex::new(send), receive: Mutex::new(Some(receive)) })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn take_send_rings(&self) -> Option<SendRings> {
        self.send.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn take_receive_rings(&self) -> Option<ReceiveRings> {
        self.receive.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Make the kernel process the send ring (`xsk_sendmsg`).
    #[inline]
    pub(super) fn kick_sending(&self) -> std::io::Result<()> {
        // SAFETY: passes no buffer; the ring describes the frames to send.
        let result =
            unsafe { libc::sendto(self.fd.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
        if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Make the driver process the fill ring (`xsk_recvmsg`).
    #[inline]
    pub(super) fn kick_receiving(&self) {
        // SAFETY: passes no buffer. An error means that there is nothing to do.
        unsafe {
            libc::recvfrom(
                self.fd.as_raw_fd(),
                std::ptr::null_mut(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
    }

    /// Return the total number of frames dropped because a ring of the receiving half was full or empty.
    pub(super) fn drop_count(&self) -> Result<u64, PortError> {
        // SAFETY: an all-zero xdp_statistics is valid.
        let mut statistics: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        UnboundSocket { fd: &self.fd, interface: &self.interface }.get(
            libc::XDP_STATISTICS,
            &mut statistics,
            "read drop counters",
        )?;
        Ok(statistics.rx_dropped + statistics.rx_ring_full)
    }

    pub(super) fn failed(&self, action: &'static str, source: std::io::Error) -> PortError {
        let remedy = "the interface must exist and be up, and its MTU must fit the frame";
        PortError::System { port: self.interface.clone(), action, source, remedy }
    }
}

/// A socket during setup.
struct UnboundSocket<'a> {
    fd: &'a OwnedFd,
    interface: &'a str,
}

impl UnboundSocket<'_> {
    fn set<T>(&self, option: libc::c_int, value: &T, action: &'static str) -> Result<(), PortError> {
        // SAFETY: `value` is valid for reads of its size for the length of the call.
        let result = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_XDP,
                option,
                (&raw const *value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        };
        if result == 0 { Ok(()) } else { Err(PortError::last_os(self.interface, action, REMEDY)) }
    }

    fn get<T>(&self, option: libc::c_int, value: &mut T, action: &'static str) -> Result<(), PortError> {
        let mut len = size_of::<T>() as libc::socklen_t;
        // SAFETY: `value` is valid for writes of `len` bytes.
        let result = unsafe {
            libc::getsockopt(self.fd.as_raw_fd(), libc::SOL_XDP, option, (&raw mut *value).cast(), &raw mut len)
        };
        if result == 0 { Ok(()) } else { Err(PortError::last_os(self.interface, action, "needs Linux 5.9 or later")) }
    }

    fn set_rings(&self, umem: &Umem, sizes: RingSizes) -> Result<(), PortError> {
        // SAFETY: an all-zero xdp_umem_reg is valid.
        let mut registration: libc::xdp_umem_reg = unsafe { std::mem::zeroed() };
        registration.addr = umem.start() as u64;
        registration.len = umem.bytes() as u64;
        registration.chunk_size = umem.chunk_bytes as u32;
        self.set(libc::XDP_UMEM_REG, &registration, "share memory with the kernel")?;
        self.set(libc::XDP_UMEM_FILL_RING, &sizes.rx, "create a fill ring")?;
        self.set(libc::XDP_UMEM_COMPLETION_RING, &sizes.tx.max(1), "create a completion ring")?;
        self.set(libc::XDP_RX_RING, &sizes.rx, "create a receive ring")?;
        if sizes.tx > 0 {
            self.set(libc::XDP_TX_RING, &sizes.tx, "create a send ring")?;
            self.allow_many_unread_frames();
            // Frames that `xsk_generic_xmit` copies per system call; older kernels stop at TX_BATCH_SIZE (32) with
            // EAGAIN and are called again.
            let _ = self.set(XDP_MAX_TX_SKB_BUDGET, &MAX_BATCH, "send more frames at once");
        }
        Ok(())
    }

    /// Raise the send buffer limit: copied frames (skbs) count against the sender's socket until a slow receiver has
    /// read them.
    fn allow_many_unread_frames(&self) {
        let bytes: libc::c_int = 64 << 20;
        for option in [libc::SO_SNDBUF, libc::SO_SNDBUFFORCE] {
            // SAFETY: `bytes` is valid for reads of its size. Without CAP_NET_ADMIN the lower limit of SO_SNDBUF
            // applies.
            unsafe {
                libc::setsockopt(
                    self.fd.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    (&raw const bytes).cast(),
                    size_of::<libc::c_int>() as libc::socklen_t,
                )
            };
        }
    }

    fn map_rings(&self, umem: &Umem, sizes: RingSizes) -> Result<(Option<SendRings>, ReceiveRings), PortError> {
        // SAFETY: an all-zero xdp_mmap_offsets is valid.
        let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        self.get(libc::XDP_MMAP_OFFSETS, &mut offsets, "get the ring offsets")?;
        let fd = self.fd.as_raw_fd();
        let (fill_page, completed_page) =
            (libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t, libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t);
        let receive = ReceiveRings {
            descriptors: Consumer::map(self.interface, fd, sizes.rx, offsets.rx, libc::XDP_PGOFF_RX_RING)?,
            fill: Producer::map(self.interface, fd, sizes.rx, offsets.fr, fill_page)?,
            slots: sizes.rx,
            base: u64::from(sizes.tx) * umem.chunk_bytes as u64,
        };
        if sizes.tx == 0 {
            return Ok((None, receive));
        }
        let send = SendRings {
            descriptors: Producer::map(self.interface, fd, sizes.tx, offsets.tx, libc::XDP_PGOFF_TX_RING)?,
            completed: Consumer::map(self.interface, fd, sizes.tx, offsets.cr, completed_page)?,
            slots: sizes.tx,
        };
        Ok((Some(send), receive))
    }

    fn bind(&self, index: libc::c_int, queue: u32, flags: u16) -> Result<(), PortError> {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flags | libc::XDP_USE_NEED_WAKEUP,
            sxdp_ifindex: index as u32,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        let deadline = Instant::now() + RELEASE_MAX;
        loop {
            // SAFETY: `address` outlives the call and its size is passed along.
            let result = unsafe {
                libc::bind(
                    self.fd.as_raw_fd(),
                    (&raw const address).cast(),
                    size_of::<libc::sockaddr_xdp>() as libc::socklen_t,
                )
            };
            let error = std::io::Error::last_os_error();
            if result == 0 {
                return Ok(());
            }
            if error.raw_os_error() != Some(libc::EBUSY) || Instant::now() > deadline {
                let (port, action) = (self.interface.to_owned(), "bind an AF_XDP socket");
                return Err(PortError::System { port, action, source: error, remedy: REMEDY });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

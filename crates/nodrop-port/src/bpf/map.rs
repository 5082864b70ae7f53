//! Maps: what programs and this process share.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use super::syscall::{self, bpf, refused};
use crate::PortError;

/// How a map finds its values (linux/bpf.h, `enum bpf_map_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapKind {
    /// By any key.
    Hash = 1,
    /// By position, a `u32`.
    Array = 2,
    /// By any key, a value for each CPU.
    PerCpuHash = 5,
    /// By position, a value for each CPU.
    PerCpuArray = 6,
    /// Interfaces by position: value is an interface index, a `u32`.
    DeviceMap = 14,
    /// AF_XDP sockets by receive queue: value is a descriptor, a `u32`.
    SocketMap = 17,
}

/// Values may be mapped into this process (linux/bpf.h, `BPF_F_MMAPABLE`).
const MMAPABLE: u32 = 1 << 10;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// A map, gone with the last program or value that uses it.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    key_bytes: usize,
    value_bytes: usize,
}

#[repr(C)]
#[derive(Default)]
struct CreateAttributes {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
struct ElementAttributes {
    map: u32,
    unused: u32,
    key: u64,
    value: u64,
    flags: u64,
}

impl Map {
    /// Make a map of `entries` values. Per-CPU values are read as one value of `value_bytes` (a multiple of 8) for each
    /// possible CPU, one behind the other.
    ///
    /// # Errors
    /// When the kernel refuses: missing capability, not enough locked memory.
    pub fn create(kind: MapKind, key_bytes: usize, value_bytes: usize, entries: usize) -> Result<Self, PortError> {
        Self::make(kind, key_bytes, value_bytes, entries, 0)
    }

    fn make(
        kind: MapKind,
        key_bytes: usize,
        value_bytes: usize,
        entries: usize,
        flags: u32,
    ) -> Result<Self, PortError> {
        let mut attributes = CreateAttributes {
            kind: kind as u32,
            key_bytes: key_bytes as u32,
            value_bytes: value_bytes as u32,
            entries: entries as u32,
            flags,
        };
        let fd = syscall::open(syscall::MAP_CREATE, &mut attributes)
            .map_err(|error| refused("BPF map", "create it", error))?;
        let copies = match kind {
            MapKind::PerCpuArray | MapKind::PerCpuHash => possible_cpus(),
            _ => 1,
        };
        Ok(Self { fd, key_bytes, value_bytes: value_bytes * copies })
    }

    /// An array with one value of so many 64-bit numbers, which this process sees without system calls.
    ///
    /// # Errors
    /// As [`Map::create`].
    pub fn shared(numbers: usize) -> Result<(Self, SharedValues), PortError> {
        let bytes = (numbers * 8).next_multiple_of(4096);
        let map = Self::make(MapKind::Array, 4, bytes, 1, MMAPABLE)?;
        let values = SharedValues::new(&map, bytes)?;
        Ok((map, values))
    }

    /// For programs and system calls that name the map.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    fn element(&self, command: libc::c_int, key: &[u8], value: *mut u8) -> std::io::Result<()> {
        debug_assert!(key.is_empty() || key.len() == self.key_bytes);
        let mut attributes = ElementAttributes {
            map: self.fd.as_raw_fd() as u32,
            unused: 0,
            key: if key.is_empty() { 0 } else { key.as_ptr() as u64 },
            value: value as u64,
            flags: 0,
        };
        bpf(command, &mut attributes).map(|_| ())
    }

    /// Write the value of a key.
    ///
    /// # Errors
    /// When key or value have another length than the map's, or the kernel refuses.
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<(), PortError> {
        self.check(key.len() == self.key_bytes && value.len() == self.value_bytes)?;
        let written = self.element(syscall::MAP_UPDATE, key, value.as_ptr().cast_mut());
        written.map_err(|error| refused("BPF map", "write a value", error))
    }

    /// Read the value of a key; None where there is none.
    ///
    /// # Errors
    /// When the key has another length than the map's, or the kernel refuses.
    pub fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>, PortError> {
        self.check(key.len() == self.key_bytes)?;
        let mut value = vec![0; self.value_bytes];
        found(self.element(syscall::MAP_LOOKUP, key, value.as_mut_ptr()).map(|()| value), "read a value")
    }

    /// Forget a key, if it is there.
    ///
    /// # Errors
    /// When the key has another length than the map's, or the kernel refuses.
    pub fn delete(&self, key: &[u8]) -> Result<(), PortError> {
        self.check(key.len() == self.key_bytes)?;
        found(self.element(syscall::MAP_DELETE, key, std::ptr::null_mut()), "delete a key").map(|_| ())
    }

    /// All keys and values, as far as they stay while being read.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn entries(&self) -> Result<Vec<Entry>, PortError> {
        let mut entries = Vec::new();
        let mut key = Vec::new();
        loop {
            let mut next = vec![0; self.key_bytes];
            let there = self.element(syscall::MAP_NEXT_KEY, &key, next.as_mut_ptr());
            if found(there, "go through its keys")?.is_none() {
                return Ok(entries);
            }
            if let Some(value) = self.lookup(&next)? {
                entries.push((next.clone(), value));
            }
            key = next;
        }
    }

    fn check(&self, fits: bool) -> Result<(), PortError> {
        let Self { key_bytes, value_bytes, .. } = self;
        fits.then_some(()).ok_or_else(|| PortError::Request {
            port: "BPF map".to_owned(),
            message: format!("it has keys of {key_bytes} and values of {value_bytes} bytes; give just as many"),
        })
    }
}

fn found<T>(result: std::io::Result<T>, asked: &'static str) -> Result<Option<T>, PortError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(refused("BPF map", asked, error)),
    }
}

/// `0-3` in /sys/devices/system/cpu/possible are four CPUs.
fn possible_cpus() -> usize {
    let range = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    range.trim().rsplit(['-', ',']).next().and_then(|last| last.parse::<usize>().ok()).unwrap_or(0) + 1
}

/// The numbers of a shared map, as programs and this process write them.
#[derive(Debug)]
pub struct SharedValues {
    memory: NonNull<AtomicU64>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, is not tied to a thread, and is only touched through atomics.
unsafe impl Send for SharedValues {}
// SAFETY: as above.
unsafe impl Sync for SharedValues {}

impl SharedValues {
    fn new(map: &Map, bytes: usize) -> Result<Self, PortError> {
        // SAFETY: asks for a fresh mapping of the map's values; the result is checked.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.fd.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(memory.cast::<AtomicU64>()) {
            Some(memory) if memory.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { memory, bytes }),
            _ => Err(PortError::last_os("BPF map", "map its values", "needs Linux 5.5 or later")),
        }
    }
}

impl std::ops::Deref for SharedValues {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page aligned, of this many bytes, and lives as long as this value.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.bytes / 8) }
    }
}

impl Drop for SharedValues {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length and is not used after this.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

//! Maps: memory shared by programs and this process.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use super::syscall::{self, bpf, bpf_error};
use crate::PortError;

/// Type of a map (linux/bpf.h, `enum bpf_map_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapKind {
    /// Any key.
    Hash = 1,
    /// Index, a `u32`.
    Array = 2,
    /// Any key, one value per CPU.
    PerCpuHash = 5,
    /// Index, one value per CPU.
    PerCpuArray = 6,
    /// Interfaces by index: the value is an interface index, a `u32`.
    DeviceMap = 14,
    /// AF_XDP sockets by receive queue: the value is a file descriptor, a `u32`.
    SocketMap = 17,
}

/// Allow mapping the values into this process (linux/bpf.h, `BPF_F_MMAPABLE`).
const MMAPABLE: u32 = 1 << 10;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// A map; freed with the last program or handle that uses it.
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
    /// Create a map of `entries` values. Per-CPU values are read as one value of `value_bytes` (a multiple of 8) for
    /// each possible CPU, one after the other.
    ///
    /// # Errors
    /// If the kernel rejects the request: missing capability, not enough locked memory.
    pub fn create(kind: MapKind, key_bytes: usize, value_bytes: usize, entries: usize) -> Result<Self, PortError> {
        Self::create_with_flags(kind, key_bytes, value_bytes, entries, 0)
    }

    fn create_with_flags(
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
            .map_err(|error| bpf_error("BPF map", "create the map", error))?;
        let copies = match kind {
            MapKind::PerCpuArray | MapKind::PerCpuHash => possible_cpus(),
            _ => 1,
        };
        Ok(Self { fd, key_bytes, value_bytes: value_bytes * copies })
    }

    /// Create an array with a single value of `numbers` 64-bit numbers that this process accesses without system calls.
    ///
    /// # Errors
    /// Same as [`Map::create`].
    pub fn create_mapped(numbers: usize) -> Result<(Self, SharedValues), PortError> {
        let bytes = (numbers * 8).next_multiple_of(4096);
        let map = Self::create_with_flags(MapKind::Array, 4, bytes, 1, MMAPABLE)?;
        let values = SharedValues::new(&map, bytes)?;
        Ok((map, values))
    }

    /// Return the descriptor for programs and system calls.
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
    /// If key or value do not have the map's length, or the kernel rejects the request.
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<(), PortError> {
        self.check(key.len() == self.key_bytes && value.len() == self.value_bytes)?;
        let result = self.element(syscall::MAP_UPDATE, key, value.as_ptr().cast_mut());
        result.map_err(|error| bpf_error("BPF map", "write a value", error))
    }

    /// Read the value of a key; None if the key does not exist.
    ///
    /// # Errors
    /// If the key does not have the map's length, or the kernel rejects the request.
    pub fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>, PortError> {
        self.check(key.len() == self.key_bytes)?;
        let mut value = vec![0; self.value_bytes];
        none_if_missing(self.element(syscall::MAP_LOOKUP, key, value.as_mut_ptr()).map(|()| value), "read a value")
    }

    /// Delete a key, if it exists.
    ///
    /// # Errors
    /// If the key does not have the map's length, or the kernel rejects the request.
    pub fn delete(&self, key: &[u8]) -> Result<(), PortError> {
        self.check(key.len() == self.key_bytes)?;
        none_if_missing(self.element(syscall::MAP_DELETE, key, std::ptr::null_mut()), "delete a key").map(|_| ())
    }

    /// Return all keys and values; entries deleted meanwhile may be missing.
    ///
    /// # Errors
    /// If the kernel rejects the request.
    pub fn entries(&self) -> Result<Vec<Entry>, PortError> {
        let mut entries = Vec::new();
        let mut key = Vec::new();
        loop {
            let mut next = vec![0; self.key_bytes];
            let result = self.element(syscall::MAP_NEXT_KEY, &key, next.as_mut_ptr());
            if none_if_missing(result, "iterate the keys")?.is_none() {
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
            message: format!(
                "wrong key or value length; use keys of {key_bytes} bytes and values of {value_bytes} bytes"
            ),
        })
    }
}

fn none_if_missing<T>(result: std::io::Result<T>, action: &'static str) -> Result<Option<T>, PortError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(bpf_error("BPF map", action, error)),
    }
}

/// Return the number of possible CPUs; `0-3` in /sys/devices/system/cpu/possible means four.
fn possible_cpus() -> usize {
    let range = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    range.trim().rsplit(['-', ',']).next().and_then(|last| last.parse::<usize>().ok()).unwrap_or(0) + 1
}

/// The numbers of a mapped map, written by programs and this process.
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

//! Memory with a given page size, and binding to a NUMA node.

use std::fs;
use std::ptr::NonNull;

use crate::PortError;

/// Size of a large page on x86-64, and on arm64 with 4 KiB pages.
pub const LARGE_PAGE_BYTES: usize = 2 << 20;

/// Requested page size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pages {
    /// Chosen by the kernel.
    #[default]
    Default,
    /// Never large pages.
    Small,
    /// Large pages: reserved huge pages if enough are free, otherwise transparent huge pages.
    Large,
}

/// An owned, zeroed, pre-faulted mapping.
#[derive(Debug)]
pub struct Memory {
    mapping: NonNull<u8>,
    mapped_bytes: usize,
    /// Offset of the usable memory in its mapping.
    offset: usize,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is not tied to a thread; users of its start address coordinate
// their accesses.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocate memory with the requested page size; None if the kernel has none, with the reason in the last system
    /// call's error.
    #[must_use]
    pub fn new(bytes: usize, pages: Pages) -> Option<Self> {
        match pages {
            Pages::Default => Self::mapped(bytes, bytes, libc::MAP_POPULATE),
            Pages::Small => Some(Self::mapped(bytes, bytes, 0)?.with_advice(libc::MADV_NOHUGEPAGE)),
            Pages::Large => {
                let rounded_bytes = bytes.next_multiple_of(LARGE_PAGE_BYTES);
                Self::mapped(bytes, rounded_bytes, libc::MAP_HUGETLB | libc::MAP_POPULATE).or_else(|| {
                    let mut memory = Self::mapped(bytes, rounded_bytes + LARGE_PAGE_BYTES, 0)?;
                    memory.offset = memory.mapping.as_ptr().align_offset(LARGE_PAGE_BYTES);
                    Some(memory.with_advice(libc::MADV_HUGEPAGE))
                })
            }
        }
    }

    /// Return the start address.
    #[must_use]
    pub fn start(&self) -> *mut u8 {
        // SAFETY: the offset is inside the mapping.
        unsafe { self.mapping.as_ptr().add(self.offset) }
    }

    /// Return the memory as words.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: the memory belongs to this value, is initialized with zeros, starts at a page, and has `bytes` bytes.
        unsafe { std::slice::from_raw_parts_mut(self.start().cast::<u64>(), self.bytes / size_of::<u64>()) }
    }

    /// Return the length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Return true if the length is zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Return the bytes that are in large pages now, as reported by the kernel (proc_pid_smaps(5)).
    #[must_use]
    pub fn large_page_bytes(&self) -> usize {
        large_page_bytes(&fs::read_to_string("/proc/self/smaps").unwrap_or_default(), self.mapping.as_ptr() as usize)
            .min(self.bytes.next_multiple_of(LARGE_PAGE_BYTES))
    }

    fn mapped(bytes: usize, mapped_bytes: usize, flags: libc::c_int) -> Option<Self> {
        // SAFETY: asks for fresh anonymous memory; the result is checked.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
                -1,
                0,
            )
        };
        let start = NonNull::new(mapping.cast::<u8>()).filter(|_| mapping != libc::MAP_FAILED)?;
        Some(Self { mapping: start, mapped_bytes, offset: 0, bytes })
    }

    /// Apply the advice and pre-fault the memory; the kernel rejects the advice if it supports only one page size.
    fn with_advice(self, advice: libc::c_int) -> Self {
        // SAFETY: the range is this value's own mapping, and no reference to it exists yet.
        unsafe {
            libc::madvise(self.mapping.as_ptr().cast(), self.mapped_bytes, advice);
            self.start().write_bytes(0, self.bytes);
        }
        self
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length and is not used after this.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped_bytes) };
    }
}

/// Sum up the large pages of the mapping at an address, including neighboring mappings that the kernel merged with it.
fn large_page_bytes(smaps: &str, address: usize) -> usize {
    let (mut inside, mut bytes) = (false, 0);
    for line in smaps.lines() {
        let Some((name, value)) = line.split_once(':').filter(|(name, _)| !name.contains(' ')) else {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |text: &str| usize::from_str_radix(text, 16).ok();
            inside = range.is_some_and(|(from, to)| {
                number(from).is_some_and(|from| from <= address) && number(to).is_some_and(|to| address < to)
            });
            continue;
        };
        if inside && ["AnonHugePages", "Private_Hugetlb"].contains(&name) {
            bytes += value.trim().trim_end_matches(" kB").parse().unwrap_or(0) * 1024;
        }
    }
    bytes
}

/// Make the kernel allocate the calling thread's memory, including its sockets' rings, only from one NUMA node.
///
/// # Errors
/// If the node does not exist or is not allowed.
pub fn bind_to_node(node: usize) -> Result<(), PortError> {
    const REMEDY: &str = "choose one listed by `numactl --hardware`";
    const BITS: usize = usize::BITS as usize;
    const NODES: usize = 1024;
    let port = format!("memory of NUMA node {node}");
    if node >= NODES {
        return Err(PortError::Request { port, message: format!("no such node; {REMEDY}") });
    }
    let mut nodes = [0_usize; NODES / BITS];
    nodes[node / BITS] = 1 << (node % BITS);
    // SAFETY: reads as many bits as specified, all in `nodes`; the kernel subtracts one from the count
    // (set_mempolicy(2)).
    let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_BIND, nodes.as_ptr(), NODES + 1) };
    if result == 0 { Ok(()) } else { Err(PortError::last_os(&port, "bind memory to it", REMEDY)) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
7f0000000000-7f0000600000 rw-p 00000000 00:00 0 
Size:               6144 kB
AnonHugePages:      4096 kB
Private_Hugetlb:       0 kB
7f0000a00000-7f0000c00000 rw-p 00000000 00:0f 1234 /anon_hugepage (deleted)
AnonHugePages:         0 kB
Private_Hugetlb:    2048 kB
VmFlags: rd wr mr mw me ht 
";

    #[test]
    fn large_pages_are_those_of_the_mapping_at_the_address() {
        assert_eq!(large_page_bytes(SMAPS, 0x7f00_0000_1000), 4 << 20);
        assert_eq!(large_page_bytes(SMAPS, 0x7f00_00a0_0000), 2 << 20);
        assert_eq!(large_page_bytes(SMAPS, 0x7f00_0090_0000), 0);
    }

    #[test]
    fn memory_is_zeros_to_its_end_in_pages_of_any_size() {
        for pages in [Pages::Default, Pages::Small, Pages::Large] {
            let mut memory = Memory::new(5 << 20, pages).unwrap();
            assert_eq!(memory.words_mut().len(), 5 << 17);
            assert!(memory.words_mut().iter().all(|word| *word == 0), "{pages:?}");
            assert!(pages != Pages::Small || memory.large_page_bytes() == 0);
        }
    }

    #[test]
    fn a_node_that_is_not_there_is_refused_by_name() {
        let error = bind_to_node(1000).unwrap_err().to_string();
        assert!(error.contains("NUMA node 1000"), "{error}");
    }
}

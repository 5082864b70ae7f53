//! DPDK's environment abstraction layer: initialized once per process, for the ports of the first request.

use std::ffi::{CStr, CString, c_char, c_int};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::{DpdkPortSpec, ffi};
use crate::PortError;
use crate::thread::Affinity;

const HUGE_PAGES: &str = "/sys/kernel/mm/hugepages";
/// Memory to reserve without huge pages. The kernel allocates only touched pages.
const SMALL_PAGE_MIB: u32 = 2048;
/// Huge page memory that DPDK uses in addition to buffers.
const OVERHEAD_BYTES: u64 = 64 << 20;
/// Overhead of a buffer: headers, headroom, rounding.
const BUFFER_OVERHEAD_BYTES: u64 = 512;

static STARTED: OnceLock<Result<(), String>> = OnceLock::new();

/// Start DPDK in this process, with its main thread on `core`; no effect if it is already running.
///
/// Uses huge pages if allowed and at least `needed_bytes` are free, otherwise ordinary memory. PCI is scanned only if
/// one of `ports` is a PCI device. Leaves nothing in the file system.
///
/// # Errors
/// If DPDK fails to start.
pub fn start(
    ports: &[DpdkPortSpec<'_>],
    core: Option<usize>,
    huge_pages: bool,
    needed_bytes: u64,
) -> Result<(), PortError> {
    let Some(first) = ports.first() else { return Ok(()) };
    let huge_bytes = || if huge_pages { free_huge_bytes(Path::new(HUGE_PAGES)) } else { 0 };
    let started = STARTED.get_or_init(|| init(&arguments(ports, core, huge_bytes() >= needed_bytes)));
    started.clone().map_err(|message| PortError::Request { port: first.device.to_owned(), message })
}

/// Return a port's driver, DPDK's version, and the type of memory; call after start.
#[must_use]
pub fn describe(device: &str) -> String {
    // SAFETY: DPDK's version is a constant string.
    let version = unsafe { CStr::from_ptr(ffi::nd_version()) }.to_string_lossy();
    // SAFETY: reads the state of DPDK.
    let memory = if unsafe { ffi::nd_has_huge_pages() } == 0 { "ordinary memory" } else { "huge pages" };
    format!("{}, {version}, {memory}", name(device))
}

fn arguments(ports: &[DpdkPortSpec<'_>], core: Option<usize>, huge_pages: bool) -> Vec<String> {
    let core = core.unwrap_or_else(|| Affinity::current().first_core());
    let mut arguments: Vec<String> =
        ["nodrop-engine", "--no-telemetry", "--log-level=error"].map(str::to_owned).to_vec();
    arguments.push(format!("--file-prefix=nodrop-{}", std::process::id()));
    arguments.push(format!("--lcores=0@{core}"));
    if !huge_pages {
        arguments.extend(["--no-huge".to_owned(), format!("-m{SMALL_PAGE_MIB}"), "--no-shconf".to_owned()]);
    } else {
        arguments.push("--in-memory".to_owned()); // incompatible with --no-huge
    }
    let pci: Vec<&str> = ports.iter().map(|port| name(port.device)).filter(|name| is_pci(name)).collect();
    if pci.is_empty() {
        arguments.push("--no-pci".to_owned());
    }
    arguments.extend(pci.iter().map(|address| format!("--allow={address}")));
    arguments
}

/// Return the free huge page memory in bytes.
fn free_huge_bytes(directory: &Path) -> u64 {
    let Ok(sizes) = fs::read_dir(directory) else { return 0 };
    let free = |size: fs::DirEntry| {
        let kib: u64 = size.file_name().to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let pages: u64 = fs::read_to_string(size.path().join("free_hugepages")).ok()?.trim().parse().ok()?;
        Some(kib * 1024 * pages)
    };
    sizes.flatten().filter_map(free).sum()
}

/// Return the memory that the ports' buffers need, given the number of buffers of each port.
pub(super) fn needed_bytes(ports: &[DpdkPortSpec<'_>], buffer_count: impl Fn(u32) -> u32) -> u64 {
    let buffer = |port: &DpdkPortSpec<'_>| port.frame_len_max.max(2048) as u64 + BUFFER_OVERHEAD_BYTES;
    let buffers = |port: &DpdkPortSpec<'_>| u64::from(buffer_count(port.queue_slots));
    OVERHEAD_BYTES + ports.iter().map(|port| buffer(port) * buffers(port)).sum::<u64>()
}

fn init(arguments: &[String]) -> Result<(), String> {
    let line = arguments[1..].join(" ");
    let texts: Vec<CString> = arguments.iter().flat_map(|text| CString::new(text.as_str())).collect();
    let mut pointers: Vec<*mut c_char> = texts.iter().map(|text| text.as_ptr().cast_mut()).collect();
    pointers.push(std::ptr::null_mut());
    let allowed = Affinity::current();
    // SAFETY: argv points to `texts`, which DPDK reorders and reads but neither writes nor frees, and ends with NULL.
    let result = unsafe { ffi::nd_eal_init(texts.len() as c_int, pointers.as_mut_ptr()) };
    // DPDK pins the thread that starts it to one core.
    allowed.restore();
    // DPDK keeps pointers to its arguments.
    std::mem::forget(texts);
    if result == 0 {
        return Ok(());
    }
    Err(format!("DPDK failed to start ({line}): {}; see its messages on standard error", error_text(result)))
}

/// Return true for a PCI address: domain:bus:device.function, the domain optional.
fn is_pci(name: &str) -> bool {
    let hexadecimal = |part: &str| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_hexdigit());
    let name = name.strip_prefix("pci:").unwrap_or(name);
    let Some((address, function)) = name.rsplit_once('.') else { return false };
    (2..=3).contains(&address.split(':').count()) && address.split(':').all(hexadecimal) && hexadecimal(function)
}

/// Return the device without its parameters.
pub(super) fn name(device: &str) -> &str {
    device.split(',').next().unwrap_or(device)
}

/// Return DPDK's text of an error; `result` is the negative return value of its functions.
pub(super) fn error_text(result: c_int) -> String {
    // SAFETY: rte_strerror returns a string that is valid until this thread calls it again.
    unsafe { CStr::from_ptr(ffi::nd_error_text(-result)) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMIF: DpdkPortSpec<'_> =
        DpdkPortSpec { device: "net_memif0,role=client", queue_slots: 1024, frame_len_max: 60 };
    const CARD: DpdkPortSpec<'_> = DpdkPortSpec { device: "0000:03:00.0,nb_mem_channels=2", ..MEMIF };

    #[test]
    fn without_enough_huge_pages_ordinary_memory_is_used() {
        let with = |huge_pages| arguments(&[MEMIF], Some(3), huge_pages).join(" ");
        assert!(with(false).contains("--lcores=0@3 --no-huge -m2048 --no-shconf --no-pci"));
        assert!(!with(true).contains("--no-huge"));
        let needed = needed_bytes(&[MEMIF], |_| 4096);
        assert!((16 << 20..4 << 30).contains(&needed), "{needed}");
    }

    #[test]
    fn only_the_requested_pci_devices_are_touched() {
        let both = arguments(&[MEMIF, CARD], Some(0), false).join(" ");
        assert!(both.contains("--allow=0000:03:00.0") && !both.contains("--no-pci"), "{both}");
    }

    #[test]
    fn a_pci_address_differs_from_a_virtual_device() {
        assert!(["0000:03:00.0", "03:00.1", "pci:0000:af:1f.7"].into_iter().all(is_pci));
        assert!(!["net_null0", "net_pcap0", "a.b", "virtio_user0", ""].into_iter().any(is_pci));
    }
}

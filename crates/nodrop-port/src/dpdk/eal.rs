//! DPDK's environment abstraction layer: started once per process, for the ports of the first request.

use std::ffi::{CStr, CString, c_char, c_int};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::{Asked, ffi};
use crate::PortError;
use crate::thread::Affinity;

const HUGE_PAGES: &str = "/sys/kernel/mm/hugepages";
/// Memory to reserve where there are no huge pages. The kernel provides only what is touched.
const SMALL_PAGE_MIB: u32 = 2048;
/// What DPDK takes of huge pages besides buffers.
const OVERHEAD_BYTES: u64 = 64 << 20;
/// Of a buffer besides its frame: headers, headroom, rounding.
const BUFFER_OVERHEAD_BYTES: u64 = 512;

static STARTED: OnceLock<Result<(), String>> = OnceLock::new();

/// Start DPDK in this process for such ports, its main thread on `core`; does nothing when it runs already.
///
/// Uses huge pages when it may and enough of them are free, and ordinary memory else. PCI is scanned only when one of `ports` is a PCI
/// device. Leaves nothing in the file system.
///
/// # Errors
/// When DPDK refuses.
pub fn start(ports: &[Asked<'_>], core: Option<usize>, huge_pages: bool) -> Result<(), PortError> {
    let Some(first) = ports.first() else { return Ok(()) };
    let huge_bytes = || if huge_pages { free_huge_bytes(Path::new(HUGE_PAGES)) } else { 0 };
    let started = STARTED.get_or_init(|| init(&arguments(ports, core, huge_bytes())));
    started.clone().map_err(|message| PortError::Request { port: first.device.to_owned(), message })
}

/// A port's driver, DPDK's version, and the memory it took; once it has started.
#[must_use]
pub fn describe(device: &str) -> String {
    // SAFETY: DPDK's version is a constant string.
    let version = unsafe { CStr::from_ptr(ffi::nd_version()) }.to_string_lossy();
    // SAFETY: reads how DPDK was started.
    let memory = if unsafe { ffi::nd_has_huge_pages() } == 0 { "ordinary memory" } else { "huge pages" };
    format!("{}, {version}, {memory}", name(device))
}

fn arguments(ports: &[Asked<'_>], core: Option<usize>, huge_bytes: u64) -> Vec<String> {
    let core = core.unwrap_or_else(|| Affinity::current().first_core());
    let mut arguments: Vec<String> =
        ["nodrop-engine", "--no-telemetry", "--log-level=error"].map(str::to_owned).to_vec();
    arguments.push(format!("--file-prefix=nodrop-{}", std::process::id()));
    arguments.push(format!("--lcores=0@{core}"));
    if huge_bytes < needed_bytes(ports) {
        arguments.extend(["--no-huge".to_owned(), format!("-m{SMALL_PAGE_MIB}"), "--no-shconf".to_owned()]);
    } else {
        arguments.push("--in-memory".to_owned()); // what --no-huge rules out
    }
    let pci: Vec<&str> = ports.iter().map(|port| name(port.device)).filter(|name| is_pci(name)).collect();
    if pci.is_empty() {
        arguments.push("--no-pci".to_owned());
    }
    arguments.extend(pci.iter().map(|address| format!("--allow={address}")));
    arguments
}

/// Huge pages nobody uses, in bytes.
fn free_huge_bytes(directory: &Path) -> u64 {
    let Ok(sizes) = fs::read_dir(directory) else { return 0 };
    let free = |size: fs::DirEntry| {
        let kib: u64 = size.file_name().to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let pages: u64 = fs::read_to_string(size.path().join("free_hugepages")).ok()?.trim().parse().ok()?;
        Some(kib * 1024 * pages)
    };
    sizes.flatten().filter_map(free).sum()
}

/// What the ports' buffers take, sending and receiving.
fn needed_bytes(ports: &[Asked<'_>]) -> u64 {
    let buffer = |port: &Asked<'_>| port.frame_len_max.max(2048) as u64 + BUFFER_OVERHEAD_BYTES;
    let buffers = |port: &Asked<'_>| u64::from(super::device::buffer_count_max(port.queue_slots));
    OVERHEAD_BYTES + ports.iter().map(|port| buffer(port) * buffers(port)).sum::<u64>()
}

fn init(arguments: &[String]) -> Result<(), String> {
    let asked = arguments[1..].join(" ");
    let texts: Vec<CString> = arguments.iter().flat_map(|text| CString::new(text.as_str())).collect();
    let mut pointers: Vec<*mut c_char> = texts.iter().map(|text| text.as_ptr().cast_mut()).collect();
    pointers.push(std::ptr::null_mut());
    let allowed = Affinity::current();
    // SAFETY: argv points at `texts`, which DPDK reorders and reads but neither writes nor frees, and ends with NULL.
    let result = unsafe { ffi::nd_eal_init(texts.len() as c_int, pointers.as_mut_ptr()) };
    // DPDK binds the thread that starts it to one core.
    allowed.restore();
    // DPDK keeps pointers into its arguments.
    std::mem::forget(texts);
    if result == 0 {
        return Ok(());
    }
    Err(format!("DPDK asked to start ({asked}), it refuses: {}; its own words are on standard error", text(result)))
}

/// A PCI address: domain:bus:device.function, the domain optional.
fn is_pci(name: &str) -> bool {
    let hexadecimal = |part: &str| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_hexdigit());
    let name = name.strip_prefix("pci:").unwrap_or(name);
    let Some((address, function)) = name.rsplit_once('.') else { return false };
    (2..=3).contains(&address.split(':').count()) && address.split(':').all(hexadecimal) && hexadecimal(function)
}

/// The device without its parameters.
pub(super) fn name(device: &str) -> &str {
    device.split(',').next().unwrap_or(device)
}

/// What DPDK calls an error; `result` as its functions return it, negative.
pub(super) fn text(result: c_int) -> String {
    // SAFETY: rte_strerror gives a string that lives until this thread asks again.
    unsafe { CStr::from_ptr(ffi::nd_error_text(-result)) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMIF: Asked<'_> = Asked { device: "net_memif0,role=client", queue_slots: 1024, frame_len_max: 60 };
    const CARD: Asked<'_> = Asked { device: "0000:03:00.0,nb_mem_channels=2", ..MEMIF };

    #[test]
    fn without_enough_huge_pages_ordinary_memory_is_used() {
        let with = |huge_bytes| arguments(&[MEMIF], Some(3), huge_bytes).join(" ");
        assert!(with(0).contains("--lcores=0@3 --no-huge -m2048 --no-shconf --no-pci"));
        assert!(with(16 << 20).contains("--no-huge"));
        assert!(!with(4 << 30).contains("--no-huge"));
    }

    #[test]
    fn only_the_pci_devices_that_were_asked_for_are_touched() {
        let both = arguments(&[MEMIF, CARD], Some(0), 0).join(" ");
        assert!(both.contains("--allow=0000:03:00.0") && !both.contains("--no-pci"), "{both}");
    }

    #[test]
    fn a_pci_address_is_told_from_a_virtual_device() {
        assert!(["0000:03:00.0", "03:00.1", "pci:0000:af:1f.7"].into_iter().all(is_pci));
        assert!(!["net_null0", "net_pcap0", "a.b", "virtio_user0", ""].into_iter().any(is_pci));
    }
}

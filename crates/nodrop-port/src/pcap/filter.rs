//! Filters in libpcap syntax, compiled and run by libpcap, which is loaded only when a filter is used.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;

use libloading::Library;

use super::PcapError;

/// Names of the library: on Debian and derivatives, and elsewhere.
const LIBRARIES: [&str; 2] = ["libpcap.so.0.8", "libpcap.so.1"];
/// Ethernet among libpcap's link types.
const ETHERNET: c_int = 1;
/// Longest frame that a filter may inspect.
const SNAP_BYTES: c_int = 262_144;
/// Unknown netmask, so "ip broadcast" is not supported (PCAP_NETMASK_UNKNOWN).
const NETMASK_UNKNOWN: c_uint = c_uint::MAX;

/// struct bpf_program of libpcap.
#[repr(C)]
struct Program {
    length: c_uint,
    instructions: *mut c_void,
}

/// struct pcap_pkthdr of libpcap.
#[repr(C)]
struct PacketHeader {
    time: libc::timeval,
    captured_bytes: u32,
    frame_bytes: u32,
}

type Handle = c_void;
type OpenDead = unsafe extern "C" fn(c_int, c_int) -> *mut Handle;
type Compile = unsafe extern "C" fn(*mut Handle, *mut Program, *const c_char, c_int, c_uint) -> c_int;
type GetError = unsafe extern "C" fn(*mut Handle) -> *mut c_char;
type Close = unsafe extern "C" fn(*mut Handle);
type FreeCode = unsafe extern "C" fn(*mut Program);
type OfflineFilter = unsafe extern "C" fn(*const Program, *const PacketHeader, *const u8) -> c_int;

/// A compiled filter for Ethernet frames.
pub struct Filter {
    program: Program,
    run: OfflineFilter,
    free: FreeCode,
    /// Keeps `run` and `free` loaded.
    _library: Library,
}

// SAFETY: after compiling, the program is only read, by `pcap_offline_filter`, which keeps no state.
unsafe impl Send for Filter {}
// SAFETY: as above.
unsafe impl Sync for Filter {}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filter").field("instructions", &self.program.length).finish_non_exhaustive()
    }
}

impl Filter {
    /// Compile `text`.
    ///
    /// # Errors
    /// If libpcap is not installed, or rejects the filter.
    pub fn new(text: &str) -> Result<Self, PcapError> {
        let library = load(text)?;
        // SAFETY: these are the signatures in pcap/pcap.h since libpcap 1.0, and the pointers are valid as long as the
        // library, which is stored with them.
        unsafe {
            let no_library =
                |error: libloading::Error| PcapError::NoLibrary { filter: text.to_owned(), detail: error.to_string() };
            let compile = *library.get::<Compile>(b"pcap_compile\0").map_err(no_library)?;
            let run = *library.get::<OfflineFilter>(b"pcap_offline_filter\0").map_err(no_library)?;
            let free = *library.get::<FreeCode>(b"pcap_freecode\0").map_err(no_library)?;
            let context = CompileContext::open(&library).map_err(no_library)?;
            let mut program = Program { length: 0, instructions: std::ptr::null_mut() };
            let error = |detail: String| PcapError::Filter { filter: text.to_owned(), detail };
            let c_text = CString::new(text).map_err(|_| error("it contains a zero byte".to_owned()))?;
            if compile(context.handle, &raw mut program, c_text.as_ptr(), 1, NETMASK_UNKNOWN) != 0 {
                return Err(error(context.error()));
            }
            drop(context);
            Ok(Self { program, run, free, _library: library })
        }
    }

    /// Return the length of the compiled program.
    #[must_use]
    pub fn instruction_count(&self) -> u32 {
        self.program.length
    }

    /// Return true if a frame of `frame_len` bytes that starts with `bytes` matches.
    #[inline]
    #[must_use]
    pub fn matches(&self, bytes: &[u8], frame_len: usize) -> bool {
        let header = PacketHeader {
            time: libc::timeval { tv_sec: 0, tv_usec: 0 },
            captured_bytes: bytes.len() as u32,
            frame_bytes: frame_len as u32,
        };
        // SAFETY: the program was compiled and is not freed; it reads no further than the captured bytes.
        unsafe { (self.run)(&raw const self.program, &raw const header, bytes.as_ptr()) != 0 }
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // SAFETY: the program is freed once and not used afterwards.
        unsafe { (self.free)(&raw mut self.program) };
    }
}

fn load(filter: &str) -> Result<Library, PcapError> {
    let mut detail = String::new();
    for name in LIBRARIES {
        // SAFETY: libpcap's initializers have no side effects on a Rust program.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => detail = error.to_string(),
        }
    }
    Err(PcapError::NoLibrary { filter: filter.to_owned(), detail })
}

/// A libpcap handle for compiling, without a device.
struct CompileContext<'a> {
    handle: *mut Handle,
    close: Close,
    error: GetError,
    _library: PhantomData<&'a Library>,
}

impl<'a> CompileContext<'a> {
    /// # Safety
    /// `library` must be libpcap.
    unsafe fn open(library: &'a Library) -> Result<Self, libloading::Error> {
        // SAFETY: as in `Filter::new`.
        unsafe {
            let open = library.get::<OpenDead>(b"pcap_open_dead\0")?;
            let close = *library.get::<Close>(b"pcap_close\0")?;
            let error = *library.get::<GetError>(b"pcap_geterr\0")?;
            Ok(Self { handle: open(ETHERNET, SNAP_BYTES), close, error, _library: PhantomData })
        }
    }

    fn error(&self) -> String {
        // SAFETY: libpcap returns a NUL-terminated text that lives as long as its handle.
        unsafe { CStr::from_ptr((self.error)(self.handle)) }.to_string_lossy().into_owned()
    }
}

impl Drop for CompileContext<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is closed once.
        unsafe { (self.close)(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UDP from 10.0.0.1:1024 to 10.0.0.2:53, optionally with VLAN tag 100.
    fn frame(tagged: bool) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        if tagged {
            frame.extend([0x81, 0, 0, 100]);
        }
        frame.extend([
            8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 4, 0, 0, 53, 0, 8, 0, 0,
        ]);
        frame
    }

    /// Return true if libpcap is missing; fail where all tests are required to run.
    fn lacks_libpcap() -> bool {
        let lacks = matches!(Filter::new("ip"), Err(PcapError::NoLibrary { .. }));
        assert!(!lacks || std::env::var("NODROP_REQUIRE_LAB").is_err(), "libpcap is not installed");
        lacks
    }

    #[test]
    fn a_filter_finds_what_tcpdump_would_and_looks_at_the_whole_length() {
        if lacks_libpcap() {
            return;
        }
        let matches = |text: &str, tagged| Filter::new(text).unwrap().matches(&frame(tagged), 1000);
        for text in ["udp port 53", "host 10.0.0.1", "greater 1000", "ether src 02:00:00:00:00:01"] {
            assert!(matches(text, false), "{text}");
        }
        assert!(matches("vlan 100 and udp dst port 53", true) && !matches("udp", true));
        for text in ["tcp", "udp port 54", "vlan 100", "less 999"] {
            assert!(!matches(text, false), "{text}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused_with_what_libpcap_says() {
        if lacks_libpcap() {
            return;
        }
        let error = Filter::new("udp prt 53").unwrap_err().to_string();
        assert!(
            error.contains("filter \"udp prt 53\": libpcap rejects it: ") && error.contains("syntax error"),
            "{error}"
        );
    }
}

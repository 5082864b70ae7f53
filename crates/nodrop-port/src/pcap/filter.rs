//! Filters in the syntax everybody knows, compiled and run by libpcap, which is looked for only when there is a filter.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;

use libloading::Library;

use super::PcapError;

/// Names of the library: Debian's and its kin's, everybody else's.
const LIBRARIES: [&str; 2] = ["libpcap.so.0.8", "libpcap.so.1"];
/// Ethernet, among libpcap's link types.
const ETHERNET: c_int = 1;
/// Longest frame a filter may look into.
const SNAP_BYTES: c_int = 262_144;
/// No netmask is known, so that "ip broadcast" cannot be asked for (PCAP_NETMASK_UNKNOWN).
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

type Pcap = c_void;
type OpenDead = unsafe extern "C" fn(c_int, c_int) -> *mut Pcap;
type Compile = unsafe extern "C" fn(*mut Pcap, *mut Program, *const c_char, c_int, c_uint) -> c_int;
type GetError = unsafe extern "C" fn(*mut Pcap) -> *mut c_char;
type Close = unsafe extern "C" fn(*mut Pcap);
type FreeCode = unsafe extern "C" fn(*mut Program);
type OfflineFilter = unsafe extern "C" fn(*const Program, *const PacketHeader, *const u8) -> c_int;

/// A compiled filter for Ethernet frames.
pub struct Filter {
    program: Program,
    run: OfflineFilter,
    free: FreeCode,
    /// Where `run` and `free` are.
    _library: Library,
}

// SAFETY: after compiling, the program is only read, by `pcap_offline_filter`, which keeps no state.
unsafe impl Send for Filter {}
// SAFETY: likewise.
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
    /// When libpcap is not installed, or does not understand it.
    pub fn new(text: &str) -> Result<Self, PcapError> {
        let library = load(text)?;
        // SAFETY: these are the signatures in pcap/pcap.h since libpcap 1.0, and the pointers stay valid with the library,
        // which is kept beside those that are kept.
        unsafe {
            let no_library =
                |found: libloading::Error| PcapError::NoLibrary { filter: text.to_owned(), found: found.to_string() };
            let compile = *library.get::<Compile>(b"pcap_compile\0").map_err(no_library)?;
            let run = *library.get::<OfflineFilter>(b"pcap_offline_filter\0").map_err(no_library)?;
            let free = *library.get::<FreeCode>(b"pcap_freecode\0").map_err(no_library)?;
            let dead = Dead::open(&library).map_err(no_library)?;
            let mut program = Program { length: 0, instructions: std::ptr::null_mut() };
            let wrong = |found: String| PcapError::Filter { filter: text.to_owned(), found };
            let written = CString::new(text).map_err(|_| wrong("a zero byte".to_owned()))?;
            if compile(dead.pcap, &raw mut program, written.as_ptr(), 1, NETMASK_UNKNOWN) != 0 {
                return Err(wrong(dead.error()));
            }
            drop(dead);
            Ok(Self { program, run, free, _library: library })
        }
    }

    /// Length of its program.
    #[must_use]
    pub fn instruction_count(&self) -> u32 {
        self.program.length
    }

    /// Whether a frame of `frame_len` bytes, of which `bytes` are known, is one of those.
    #[inline]
    #[must_use]
    pub fn matches(&self, bytes: &[u8], frame_len: usize) -> bool {
        let header = PacketHeader {
            time: libc::timeval { tv_sec: 0, tv_usec: 0 },
            captured_bytes: bytes.len() as u32,
            frame_bytes: frame_len as u32,
        };
        // SAFETY: the program was compiled and not freed; it reads no further than the captured bytes.
        unsafe { (self.run)(&raw const self.program, &raw const header, bytes.as_ptr()) != 0 }
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // SAFETY: the program is freed once, and not used after this.
        unsafe { (self.free)(&raw mut self.program) };
    }
}

fn load(filter: &str) -> Result<Library, PcapError> {
    let mut found = String::new();
    for name in LIBRARIES {
        // SAFETY: libpcap's initializers do nothing a Rust program would notice.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => found = error.to_string(),
        }
    }
    Err(PcapError::NoLibrary { filter: filter.to_owned(), found })
}

/// What libpcap compiles for: no device, only a kind of link.
struct Dead<'a> {
    pcap: *mut Pcap,
    close: Close,
    error: GetError,
    _library: PhantomData<&'a Library>,
}

impl<'a> Dead<'a> {
    /// # Safety
    /// `library` must be libpcap.
    unsafe fn open(library: &'a Library) -> Result<Self, libloading::Error> {
        // SAFETY: as in `Filter::new`.
        unsafe {
            let open = library.get::<OpenDead>(b"pcap_open_dead\0")?;
            let close = *library.get::<Close>(b"pcap_close\0")?;
            let error = *library.get::<GetError>(b"pcap_geterr\0")?;
            Ok(Self { pcap: open(ETHERNET, SNAP_BYTES), close, error, _library: PhantomData })
        }
    }

    fn error(&self) -> String {
        // SAFETY: libpcap gives a NUL-terminated text that lives as long as its handle.
        unsafe { CStr::from_ptr((self.error)(self.pcap)) }.to_string_lossy().into_owned()
    }
}

impl Drop for Dead<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is closed once.
        unsafe { (self.close)(self.pcap) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UDP from 10.0.0.1:1024 to 10.0.0.2:53, tagged with VLAN 100 where asked.
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

    /// Whether a test has to do without; where all have to run it must not.
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
        assert!(error.contains("\"udp prt 53\" asked, libpcap finds: ") && error.contains("syntax error"), "{error}");
    }
}

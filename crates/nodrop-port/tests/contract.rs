//! Contract test of back ends.
//!
//! Packet sockets are tested on the loopback interface of a new network namespace (in a user namespace if
//! unprivileged), where every sent frame is received.
#![allow(clippy::unwrap_used)]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nodrop_model::{ChecksumUpdate, CountingField, FieldProgram};
use nodrop_port::af_packet::{self, PacketRx, PacketTx};
use nodrop_port::af_xdp::{self, CopyMode, FrameSelection};
use nodrop_port::clock::{Clock, SystemClock};
use nodrop_port::loopback;
use nodrop_port::memory::Pages;
use nodrop_port::self_paced;
use nodrop_port::timetable::{Frame, Report, Timetable, TrialWindow};
use nodrop_port::xdp_live::LiveTx;
use nodrop_port::{Receive, SNAP_BYTES, Slot, Transmit};

const MAGIC: u32 = 0xfeed_beef;
const MAGIC_OFFSET: usize = 20;
const FRAME_BYTES: usize = 100;

fn main() -> ExitCode {
    let [near, far] = loopback::pair(4096);
    run("loopback", (near.0, far.1));
    if let Err(error) = enter_new_network() {
        eprintln!("contract: cannot create a network namespace: {error}");
        return if std::env::var_os("NODROP_REQUIRE_LAB").is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    run("af_packet", af_packet::open("lo", 4096, MAGIC, &[MAGIC_OFFSET]).unwrap());
    over_af_xdp("lo", "lo");
    if over_veth() {
        over_af_xdp("near", "far");
        a_withdrawn_frame_never_leaves();
        a_timetable_is_kept_by_itself();
    }
    only_marked_frames_reach_a_filtered_ring();
    a_whole_frame_keeps_its_vlan_tags();
    a_missing_interface_is_named();
    #[cfg(feature = "dpdk")]
    run_dpdk();
    println!("test result: ok. all tested back ends fulfill the contract");
    ExitCode::SUCCESS
}

/// Test AF_XDP, which needs more privileges than the other back ends.
fn over_af_xdp(sender: &str, receiver: &str) {
    let selection = FrameSelection::Marked { magic: MAGIC, offsets: vec![MAGIC_OFFSET] };
    let options =
        af_xdp::Options { queue_slots: 4096, queues: 1, copying: CopyMode::Auto, selection, pages: Pages::Default };
    match af_xdp::open(receiver, &options) {
        Ok((tx, rx, mode)) if sender == receiver => run(&format!("af_xdp on {sender}: {mode}"), (tx, rx)),
        Ok((_, rx, mode)) => {
            let (tx, _, _) = af_xdp::open(sender, &options).unwrap();
            run(&format!("af_xdp from {sender} to {receiver}: {mode}"), (tx, rx));
        }
        Err(error) => {
            eprintln!("contract: af_xdp cannot be tested: {error}");
            assert!(std::env::var_os("NODROP_REQUIRE_LAB").is_none());
        }
    }
}

/// Create two connected interfaces.
fn over_veth() -> bool {
    let ip = |arguments: &str| {
        std::process::Command::new("ip").args(arguments.split(' ')).status().is_ok_and(|status| status.success())
    };
    ip("link add near type veth peer name far") && ip("link set near up") && ip("link set far up")
}

/// Two streams, the first with twice the frames of the second: every frame arrives once, numbered, timestamped, with
/// correct field and checksum.
fn a_timetable_is_kept_by_itself() {
    const MARK_AT: usize = MAGIC_OFFSET;
    let selection = FrameSelection::Marked { magic: MAGIC, offsets: vec![MARK_AT] };
    let options =
        af_xdp::Options { queue_slots: 16384, queues: 1, copying: CopyMode::Copy, selection, pages: Pages::Default };
    assert!(
        LiveTx::open("near").unwrap_err().to_string().contains("NAPI"),
        "the other end does not accept such frames"
    );
    let Ok((_, mut rx, _)) = af_xdp::open("far", &options) else { return };
    let tx = LiveTx::open("near").unwrap();
    let bytes = |stream: u8| {
        let mut bytes = [0; 60];
        bytes[..12].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8]);
        bytes[MARK_AT..MARK_AT + 4].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[MARK_AT + 5] = stream;
        bytes
    };
    let (one, two) = (bytes(1), bytes(2));
    let frame = |bytes, first| Frame {
        bytes,
        mark_at: MARK_AT,
        program: FieldProgram {
            fields: vec![CountingField { at: 14, width: 2, first, step: 3, count: 5, every: 2 }],
            checksums: vec![ChecksumUpdate {
                at: 18,
                static_sum: 0x1_ffff,
                covers_signature: true,
                covers: vec![0],
                zero_is_none: true,
            }],
        },
    };
    let timetable = Timetable {
        egress: tx.egress_port().unwrap(),
        load_pps: 30_000.0,
        frame_count: 9000,
        catch_up_max_ns: 1_000_000_000,
        frames: vec![frame(&one[..], 700), frame(&two[..], 65_530)],
        order: &[0, 1, 0],
    };
    let start_ns = SystemClock.steady_ns() + 40_000_000;
    let end_ns = AtomicU64::new(199_999_000);
    let window = TrialWindow { start_ns, end_ns: &end_ns, grace_ns: &AtomicU64::new(1_000_000_000), trial_tag: 9 };
    let before_ns = SystemClock.wall_ns();
    let progress = AtomicU64::new(0);
    let reports =
        self_paced::send(&[timetable], window, |_, now| progress.store(now.sent.iter().sum(), Relaxed)).unwrap();
    let after_ns = SystemClock.wall_ns();
    let Report { sent, lateness, gaps, rejected_count, unsent_count, .. } = &reports[0];
    assert_eq!((sent.as_slice(), *rejected_count, *unsent_count), (&[4000, 2000][..], 0, 0));
    assert_eq!(lateness.iter().map(|cell| cell.1).sum::<u64>(), 6000);
    assert_eq!(gaps.iter().map(|cell| cell.1).sum::<u64>(), 5999);
    assert!(progress.load(Relaxed) > 0);
    let mut next = [0, 0];
    rx.receive(10_000, |received| {
        let word = |at: usize| u64::from(u16::from_be_bytes([received.bytes[at], received.bytes[at + 1]]));
        let stream = usize::from(received.bytes[MARK_AT + 5]) - 1;
        let number =
            received.bytes[MARK_AT + 13..MARK_AT + 18].iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let time_ns = word(MARK_AT + 6) << 32 | word(MARK_AT + 8) << 16 | word(MARK_AT + 10);
        assert_eq!((number, received.bytes[MARK_AT + 12]), (next[stream], 9));
        next[stream] += 1;
        assert_eq!(word(14), ([700, 65_530][stream] + number / 2 % 5 * 3) & 0xffff);
        let mut sum = 0x1_ffff + word(14) + (MARK_AT + 6..MARK_AT + 18).step_by(2).map(word).sum::<u64>();
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        assert_eq!(word(18), if sum == 0xffff { 0xffff } else { 0xffff - sum });
        let low = |ns: u64| ns & 0xffff_ffff_ffff;
        assert!((low(before_ns)..=low(after_ns)).contains(&time_ns) && low(received.time_ns) >= time_ns);
    })
    .unwrap();
    assert_eq!(next, [4000, 2000]);
}

/// A frame that the driver rejected is not sent later in place of another.
fn a_withdrawn_frame_never_leaves() {
    let selection = FrameSelection::Marked { magic: MAGIC, offsets: vec![MAGIC_OFFSET] };
    let options =
        af_xdp::Options { queue_slots: 64, queues: 1, copying: CopyMode::Copy, selection, pages: Pages::Default };
    let Ok((_, mut rx, _)) = af_xdp::open("far", &options) else { return };
    let (mut tx, _, _) = af_xdp::open("near", &options).unwrap();
    let ip = |arguments: &str| std::process::Command::new("ip").args(arguments.split(' ')).status().unwrap();
    ip("link set far down");
    let attempts =
        (0..5).map(|number| tx.transmit(8, FRAME_BYTES + 8, |at, slot: Slot<'_>| fill(slot, 100 * number + at as u32)));
    assert_eq!(attempts.map(|sent| sent.unwrap_or(0)).sum::<usize>(), 0);
    ip("link set far up");
    std::thread::sleep(std::time::Duration::from_millis(50));
    send(&mut tx, 7..10);
    assert_eq!(receive(&mut rx, 100).iter().map(|frame| frame.0).collect::<Vec<_>>(), [7, 8, 9]);
}

fn run<T: Transmit, R: Receive>(name: &str, (mut tx, mut rx): (T, R)) {
    println!("contract of {name}");
    frames_arrive_whole_in_order_and_stamped(&mut tx, &mut rx);
    a_budget_is_a_limit(&mut tx, &mut rx);
    what_a_full_queue_refuses_is_counted(&mut tx, &mut rx);
}

/// Send all frames, or as many as fit if the port rejects the rest; return how many were sent.
fn send<T: Transmit>(tx: &mut T, numbers: std::ops::Range<u32>) -> u32 {
    let (mut next, mut rejections) = (numbers.start, 0);
    while next < numbers.end && rejections < 100 {
        let count = (numbers.end - next).min(32) as usize;
        let sent =
            tx.transmit(count, FRAME_BYTES + 8, |position, slot: Slot<'_>| fill(slot, next + position as u32)).unwrap();
        next += sent as u32;
        rejections += u32::from(sent == 0);
    }
    next - numbers.start
}

/// Write a frame shorter than the maximum of the call.
fn fill(slot: Slot<'_>, number: u32) -> usize {
    slot.bytes.fill(0x55);
    slot.bytes[12..14].copy_from_slice(&[0x08, 0x00]);
    slot.bytes[MAGIC_OFFSET..MAGIC_OFFSET + 4].copy_from_slice(&MAGIC.to_be_bytes());
    slot.bytes[30..34].copy_from_slice(&number.to_be_bytes());
    FRAME_BYTES
}

fn receive<R: Receive>(rx: &mut R, budget: usize) -> Vec<(u32, u64)> {
    let mut frames = Vec::new();
    rx.receive(budget, |frame| {
        assert_eq!(frame.bytes.len(), FRAME_BYTES.min(SNAP_BYTES));
        assert_eq!(frame.bytes[34..], [0x55; FRAME_BYTES - 34]);
        frames.push((u32::from_be_bytes(frame.bytes[30..34].try_into().unwrap()), frame.time_ns));
    })
    .unwrap();
    frames
}

fn frames_arrive_whole_in_order_and_stamped<T: Transmit, R: Receive>(tx: &mut T, rx: &mut R) {
    let before_ns = SystemClock.wall_ns();
    assert_eq!(send(tx, 0..500), 500);
    let sent_ns = SystemClock.wall_ns();
    let frames = receive(rx, 10_000);
    let after_ns = if rx.stamps_on_arrival() { sent_ns } else { SystemClock.wall_ns() };
    assert_eq!(frames.iter().map(|frame| frame.0).collect::<Vec<_>>(), (0..500).collect::<Vec<_>>());
    assert!(frames.iter().all(|frame| (before_ns..=after_ns).contains(&frame.1)));
    assert!(frames.is_sorted_by_key(|frame| frame.1));
    assert_eq!(rx.take_drop_count().unwrap(), 0);
}

fn a_budget_is_a_limit<T: Transmit, R: Receive>(tx: &mut T, rx: &mut R) {
    send(tx, 0..100);
    assert_eq!(receive(rx, 60).len(), 60);
    assert_eq!(receive(rx, 60).len(), 40);
    assert_eq!(receive(rx, 60).len(), 0);
}

fn what_a_full_queue_refuses_is_counted<T: Transmit, R: Receive>(tx: &mut T, rx: &mut R) {
    let surplus = 1000;
    let sent = send(tx, 0..rx.queue_slots() + surplus);
    let received = receive(rx, sent as usize).len() as u64;
    assert!(received <= u64::from(rx.queue_slots()));
    assert_eq!(received + rx.take_drop_count().unwrap(), u64::from(sent));
    assert_eq!(rx.take_drop_count().unwrap(), 0);
}

/// A ring connected to itself, and two ends of shared memory.
#[cfg(feature = "dpdk")]
fn run_dpdk() {
    use nodrop_port::dpdk::{DpdkPortSpec, open};
    const fn spec(device: &str) -> DpdkPortSpec<'_> {
        DpdkPortSpec { device, queue_slots: 1024, frame_len_max: FRAME_BYTES }
    }
    assert!(
        open(&spec("net_nothing0"))
            .unwrap_err()
            .to_string()
            .starts_with("net_nothing0: DPDK cannot open device net_nothing0")
    );
    run("dpdk, net_ring", open(&spec("net_ring0")).unwrap());
    // Use a socket in the file system: DPDK 22.11 releases an abstract one only at process exit.
    let socket = std::env::temp_dir().join(format!("nodrop-contract-{}", std::process::id()));
    let end = |name, role| format!("net_memif{name},role={role},socket-abstract=no,socket={}", socket.display());
    for _again in 0..2 {
        let (_, mut rx) = open(&spec(&end(0, "server"))).unwrap();
        let (mut tx, _) = open(&spec(&end(1, "client"))).unwrap();
        wait_for_link(&mut tx, &mut rx);
        run("dpdk, net_memif", (tx, rx));
    }
}

/// Two ends of a memif connect on a DPDK thread.
#[cfg(feature = "dpdk")]
fn wait_for_link<T: Transmit, R: Receive>(tx: &mut T, rx: &mut R) {
    let soon = |mut happened: Box<dyn FnMut() -> bool + '_>| {
        (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            happened()
        })
    };
    let sent = Box::new(|| tx.transmit(1, FRAME_BYTES, |_, slot: Slot<'_>| fill(slot, u32::MAX)).unwrap() == 1);
    assert!(soon(sent), "the link does not come up");
    assert!(soon(Box::new(|| receive(rx, 10).len() == 1)), "the first frame does not arrive");
}

fn only_marked_frames_reach_a_filtered_ring() {
    let (mut tx, mut marked) = af_packet::open("lo", 4096, MAGIC, &[MAGIC_OFFSET]).unwrap();
    let mut all = PacketRx::open_unfiltered("lo", 64, 1500).unwrap();
    tx.transmit(2, FRAME_BYTES, |position, slot: Slot<'_>| {
        slot.bytes.fill(0);
        if position == 1 { fill(slot, 7) } else { FRAME_BYTES }
    })
    .unwrap();
    assert_eq!(receive(&mut marked, 10).len(), 1);
    assert_eq!(whole_frames(&mut all).iter().map(Vec::len).collect::<Vec<_>>(), [100, 100]);
}

fn whole_frames(rx: &mut PacketRx) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    rx.receive(10, |frame| frames.push(frame.bytes.to_vec())).unwrap();
    frames
}

fn a_whole_frame_keeps_its_vlan_tags() {
    let (mut tx, mut rx) = (PacketTx::open("lo").unwrap(), PacketRx::open_unfiltered("lo", 64, 1500).unwrap());
    let tagged: Vec<u8> =
        (0..12).chain([0x88, 0xa8, 0x20, 0x05, 0x81, 0x00, 0x60, 0x07, 0x08, 0x00]).chain(0..78).collect();
    tx.transmit(1, tagged.len(), |_, slot: Slot<'_>| {
        slot.bytes.copy_from_slice(&tagged);
        tagged.len()
    })
    .unwrap();
    assert_eq!(whole_frames(&mut rx), [tagged]);
}

fn a_missing_interface_is_named() {
    let error = PacketTx::open("nowhere0").unwrap_err().to_string();
    assert!(error.starts_with("nowhere0: does not exist"), "{error}");
}

/// Enter a new network namespace with its loopback interface up.
fn enter_new_network() -> std::io::Result<()> {
    // SAFETY: unshare takes flags only; this process has one thread.
    let success = unsafe {
        libc::unshare(libc::CLONE_NEWNET) == 0 || libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) == 0
    };
    if !success {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: an all-zero ifreq is valid; the ioctl reads the name and flags written into it.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        let result = libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request);
        libc::close(socket);
        if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }
}

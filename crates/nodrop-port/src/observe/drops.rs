//! Reasons why the kernel dropped frames: a program at the tracepoint `skb:kfree_skb` counts drops by reason, interface
//! and network namespace. It runs only for dropped frames.

use std::collections::HashMap;

use super::btf::Btf;
use crate::PortError;
use crate::bpf::{Alu, Assembler, Condition, Helper, Link, Map, MapKind, Program, ProgramKind, Reg, Size};

/// Maximum number of combinations of reason, interface and namespace; further ones are not counted.
const ENTRIES: usize = 4096;
const PREFIX: &str = "SKB_DROP_REASON_";
const UNSPECIFIED: &str = "NOT_SPECIFIED";
/// Frames for other stations' MAC addresses, including every frame that a packet socket in promiscuous mode has already
/// received.
const OTHER_HOST: &str = "OTHERHOST";

/// Frames dropped for one reason at one interface; index 0 means no interface.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DropCount {
    pub(super) reason: String,
    pub(super) interface_index: i32,
    /// Inode of the network namespace.
    pub(super) namespace: u32,
    pub(super) count: u64,
}

/// Counts drops during its lifetime.
#[derive(Debug)]
pub(super) struct DropCounter {
    map: Map,
    names: HashMap<u32, String>,
    _link: Link,
}

/// Positions of the kernel data that the program reads.
struct Layout {
    reason_argument: usize,
    frame_argument: usize,
    frame_device: u32,
    device_index: u32,
    device_namespace: u32,
    namespace_inode: u32,
}

impl DropCounter {
    /// Start counting; count frames for other stations only if `with_other_host`, because that adds a cost to every
    /// received frame.
    ///
    /// # Errors
    /// If the kernel does not expose its types, or a capability is missing.
    pub(super) fn open(with_other_host: bool) -> Result<Self, PortError> {
        let btf = Btf::from_kernel().ok_or_else(|| unavailable("its types", "needs CONFIG_DEBUG_INFO_BTF"))?;
        let remedy = "this kernel has a different layout: use a newer nodrop";
        let layout = Layout::find(&btf).ok_or_else(|| unavailable("the fields of a dropped frame", remedy))?;
        let values =
            btf.enum_values("skb_drop_reason").ok_or_else(|| unavailable("drop reasons", "needs Linux 5.17"))?;
        let names: HashMap<u32, String> =
            values.into_iter().map(|(value, name)| (value, name.trim_start_matches(PREFIX).to_owned())).collect();
        let skipped = names.iter().find(|(_, name)| !with_other_host && *name == OTHER_HOST).map(|(value, _)| *value);
        let map = Map::create(MapKind::Hash, KEY_BYTES, 8, ENTRIES)?;
        let program = Program::load(ProgramKind::RawTracepoint, "drops", &program(&layout, &map, skipped).finish()?)?;
        let link = program.attach_raw_tracepoint("kfree_skb")?;
        Ok(Self { map, names, _link: link })
    }

    /// Return all drops so far, on the entire host.
    pub(super) fn read(&self) -> Vec<DropCount> {
        let entries = self.map.entries().unwrap_or_default();
        entries.iter().filter_map(|(key, value)| self.parse(key, value)).collect()
    }

    fn parse(&self, key: &[u8], value: &[u8]) -> Option<DropCount> {
        let word = |at: usize| Some(u32::from_ne_bytes(key.get(at..at + 4)?.try_into().ok()?));
        let reason = word(0)?;
        Some(DropCount {
            // Reasons outside the core's range belong to a subsystem: include/net/dropreason.h.
            reason: self.names.get(&reason).cloned().unwrap_or_else(|| format!("{UNSPECIFIED}_{reason:#x}")),
            interface_index: word(4)?.cast_signed(),
            namespace: word(8)?,
            count: u64::from_ne_bytes(value.try_into().ok()?),
        })
    }
}

impl Layout {
    fn find(btf: &Btf) -> Option<Self> {
        Some(Self {
            reason_argument: btf.tracepoint_argument("kfree_skb", "skb_drop_reason")?,
            frame_argument: btf.tracepoint_argument("kfree_skb", "sk_buff")?,
            frame_device: btf.offset("sk_buff", &["dev"])?,
            device_index: btf.offset("net_device", &["ifindex"])?,
            device_namespace: btf.offset("net_device", &["nd_net", "net"])?,
            namespace_inode: btf.offset("net", &["ns", "inum"])?,
        })
    }
}

fn unavailable(what: &str, remedy: &str) -> PortError {
    PortError::Request {
        port: "kernel drop reasons".to_owned(),
        message: format!("the kernel does not expose {what}; {remedy}"),
    }
}

const KEY_BYTES: usize = 12;
/// The key on the program's stack: reason, interface, namespace.
const KEY: i16 = -16;
const KEY_INTERFACE: i16 = KEY + 4;
const KEY_NAMESPACE: i16 = KEY + 8;
/// Eight bytes for a pointer, later for the constant one.
const SCRATCH: i16 = -24;
const NO_EXIST: i32 = 1;

/// Build `counts[reason, dev->ifindex, dev->net->inode] += 1`; unreadable values stay zero.
fn program(layout: &Layout, counts: &Map, skipped: Option<u32>) -> Assembler {
    let argument = |position: usize| (position * 8) as i16;
    let mut code = Assembler::new();
    let (count, out) = (code.label(), code.label());
    code.load(Size::Double, Reg::R7, Reg::R1, argument(layout.reason_argument));
    if let Some(reason) = skipped {
        code.jump_if(Reg::R7, Condition::Equal, reason.cast_signed(), out);
    }
    code.load(Size::Double, Reg::R8, Reg::R1, argument(layout.frame_argument));
    code.store(Size::Word, Reg::R10, KEY, Reg::R7);
    code.store(Size::Word, Reg::R10, KEY_INTERFACE, 0);
    code.store(Size::Word, Reg::R10, KEY_NAMESPACE, 0);
    read_kernel(&mut code, SCRATCH, 8, layout.frame_device);
    code.load(Size::Double, Reg::R8, Reg::R10, SCRATCH);
    code.jump_if(Reg::R8, Condition::Equal, 0, count);
    read_kernel(&mut code, KEY_INTERFACE, 4, layout.device_index);
    read_kernel(&mut code, SCRATCH, 8, layout.device_namespace);
    code.load(Size::Double, Reg::R8, Reg::R10, SCRATCH);
    code.jump_if(Reg::R8, Condition::Equal, 0, count);
    read_kernel(&mut code, KEY_NAMESPACE, 4, layout.namespace_inode);
    code.bind(count);
    increment(&mut code, counts);
    code.store(Size::Double, Reg::R10, SCRATCH, 1);
    stack_address(&mut code, Reg::R2, KEY);
    stack_address(&mut code, Reg::R3, SCRATCH);
    code.load_map(Reg::R1, counts);
    code.mov(Reg::R4, NO_EXIST);
    code.call(Helper::MapUpdate);
    code.jump_if(Reg::R0, Condition::Equal, 0, out);
    // Another CPU has inserted the key meanwhile.
    increment(&mut code, counts);
    code.bind(out);
    code.exit_with(0);
    code
}

/// Emit `*(stack + to) = *(r8 + offset)`, zero if the address is invalid.
fn read_kernel(code: &mut Assembler, to: i16, bytes: i32, offset: u32) {
    stack_address(code, Reg::R1, to);
    code.mov(Reg::R2, bytes);
    code.mov(Reg::R3, Reg::R8);
    code.alu(Alu::Add, Reg::R3, offset.cast_signed());
    code.call(Helper::ProbeReadKernel);
}

/// Emit code that increments the value of the key on the stack and exits, if the key exists.
fn increment(code: &mut Assembler, counts: &Map) {
    let missing = code.label();
    stack_address(code, Reg::R2, KEY);
    code.load_map(Reg::R1, counts);
    code.call(Helper::MapLookup);
    code.jump_if(Reg::R0, Condition::Equal, 0, missing);
    code.mov(Reg::R1, 1);
    code.atomic_add(Size::Double, Reg::R0, 0, Reg::R1);
    code.exit_with(0);
    code.bind(missing);
}

fn stack_address(code: &mut Assembler, to: Reg, at: i16) {
    code.mov(to, Reg::R10);
    code.alu(Alu::Add, to, i32::from(at));
}

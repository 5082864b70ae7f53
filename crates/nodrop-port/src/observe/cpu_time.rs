//! CPU time of every process on each CPU: a program at the tracepoint `sched:sched_switch` adds it up by name, so that
//! short-lived processes count too. Without permission for it, the times that `/proc` has at two moments.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use crate::PortError;
use crate::bpf::{Alu, Assembler, Condition, Helper, Link, Map, MapKind, Program, ProgramKind, Reg, Size};
use crate::host::TICK_NS;

/// Maximum number of combinations of name, process and CPU; further ones are not counted.
const ENTRIES: usize = 8192;
const NAME_BYTES: usize = 16;
const KEY_BYTES: usize = NAME_BYTES + 8;

/// A process on a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CpuUser {
    /// Name of the process, up to 15 bytes.
    pub name: String,
    /// Process id.
    pub pid: u32,
    /// The CPU; from `/proc`, the one it last ran on.
    pub cpu: u32,
}

/// CPU time in nanoseconds, by process and CPU.
pub type CpuTimes = HashMap<CpuUser, u64>;

/// Measures CPU time during its lifetime.
#[derive(Debug)]
pub struct CpuTimeMeter {
    switches: Option<SwitchCounter>,
    before: CpuTimes,
}

/// The program and its sums.
#[derive(Debug)]
struct SwitchCounter {
    sums: Map,
    _last: Map,
    _link: Link,
}

impl CpuTimeMeter {
    /// Start measuring, by the tracepoint if this process may use it, else by `/proc`.
    #[must_use]
    pub fn start() -> Self {
        let switches = SwitchCounter::open().ok();
        let before = if switches.is_none() { read_proc() } else { CpuTimes::new() };
        Self { switches, before }
    }

    /// Return the CPU time since the start, but for `excluded` processes.
    #[must_use]
    pub fn read(&self, excluded: &[u32]) -> CpuTimes {
        let mut times = self.switches.as_ref().map_or_else(read_proc, SwitchCounter::read);
        for (user, time_ns) in &mut times {
            // A process that changed its CPU has no entry of its former one in `/proc`.
            let before = self.before.iter().find(|(other, _)| other.pid == user.pid && other.name == user.name);
            *time_ns -= before.map_or(0, |(_, before_ns)| *before_ns).min(*time_ns);
        }
        times.retain(|user, time_ns| *time_ns > 0 && !excluded.contains(&user.pid));
        times
    }
}

impl SwitchCounter {
    fn open() -> Result<Self, PortError> {
        let last = Map::create(MapKind::PerCpuArray, 4, 8, 1)?;
        let sums = Map::create(MapKind::Hash, KEY_BYTES, 8, ENTRIES)?;
        let program = Program::load(ProgramKind::RawTracepoint, "cpu_time", &program(&last, &sums).finish()?)?;
        let link = program.attach_raw_tracepoint("sched_switch")?;
        Ok(Self { sums, _last: last, _link: link })
    }

    fn read(&self) -> CpuTimes {
        let entries = self.sums.entries().unwrap_or_default();
        entries.iter().filter_map(|(key, value)| parse_entry(key, value)).collect()
    }
}

fn parse_entry(key: &[u8], value: &[u8]) -> Option<(CpuUser, u64)> {
    let (name, ids) = key.split_at_checked(NAME_BYTES)?;
    let id = |at: usize| Some(u32::from_ne_bytes(ids.get(at..at + 4)?.try_into().ok()?));
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    Some((CpuUser { name, pid: id(0)?, cpu: id(4)? }, u64::from_ne_bytes(value.try_into().ok()?)))
}

/// Return the CPU time of each running process since its start.
fn read_proc() -> CpuTimes {
    let Ok(entries) = fs::read_dir("/proc") else { return CpuTimes::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| parse_stat(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)).collect()
}

/// Parse `pid (name) state ppid ...` (proc_pid_stat(5)); fields after the name count from state, the third.
fn parse_stat(pid: u32, stat: &str) -> Option<(CpuUser, u64)> {
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let ticks = field(14)? + field(15)?;
    Some((CpuUser { name, pid, cpu: field(39)? as u32 }, ticks * TICK_NS))
}

/// Add up times by process, over its CPUs among `cpus`; all CPUs if that is empty. Return the longest times first.
#[must_use]
pub fn rank_by_time(times: &CpuTimes, cpus: &[usize]) -> Vec<(CpuUser, u64)> {
    let mut sums: BTreeMap<CpuUser, u64> = BTreeMap::new();
    for (user, time_ns) in times {
        if cpus.is_empty() || cpus.contains(&(user.cpu as usize)) {
            // Many short processes of one name, such as those of a compiler, are one cause.
            *sums.entry(CpuUser { pid: 0, ..user.clone() }).or_default() += time_ns;
        }
    }
    let mut ranked: Vec<(CpuUser, u64)> = sums.into_iter().collect();
    ranked.sort_by_key(|(_, time_ns)| std::cmp::Reverse(*time_ns));
    for (user, _) in &mut ranked {
        let pids: Vec<u32> = times
            .keys()
            .filter(|other| other.name == user.name && other.cpu == user.cpu)
            .map(|other| other.pid)
            .collect();
        user.pid = if let [pid] = pids[..] { pid } else { 0 };
    }
    ranked
}

/// The key on the program's stack: name, process, CPU.
const KEY: i16 = -24;
const KEY_PROCESS: i16 = KEY + NAME_BYTES as i16;
const KEY_CPU: i16 = KEY_PROCESS + 4;
const VALUE: i16 = -32;
const INDEX: i16 = -40;
const NO_EXIST: i32 = 1;

/// Build `sums[name, process, cpu] += now - last[cpu]; last[cpu] = now`, for the task that leaves the CPU; not for the
/// idle task.
fn program(last: &Map, sums: &Map) -> Assembler {
    let mut code = Assembler::new();
    let (out, absent) = (code.label(), code.label());
    code.call(Helper::KtimeGetNs);
    code.mov(Reg::R6, Reg::R0);
    code.store(Size::Word, Reg::R10, INDEX, 0);
    stack_address(&mut code, Reg::R2, INDEX);
    code.load_map(Reg::R1, last);
    code.call(Helper::MapLookup);
    code.jump_if(Reg::R0, Condition::Equal, 0, out);
    code.load(Size::Double, Reg::R7, Reg::R0, 0);
    code.store(Size::Double, Reg::R0, 0, Reg::R6);
    code.jump_if(Reg::R7, Condition::Equal, 0, out);
    code.alu(Alu::Sub, Reg::R6, Reg::R7);
    code.call(Helper::GetCurrentPidTgid);
    code.alu(Alu::ShiftRight, Reg::R0, 32);
    code.jump_if(Reg::R0, Condition::Equal, 0, out);
    code.store(Size::Word, Reg::R10, KEY_PROCESS, Reg::R0);
    code.call(Helper::GetSmpProcessorId);
    code.store(Size::Word, Reg::R10, KEY_CPU, Reg::R0);
    stack_address(&mut code, Reg::R1, KEY);
    code.mov(Reg::R2, NAME_BYTES as i32);
    code.call(Helper::GetCurrentComm);
    stack_address(&mut code, Reg::R2, KEY);
    code.load_map(Reg::R1, sums);
    code.call(Helper::MapLookup);
    code.jump_if(Reg::R0, Condition::Equal, 0, absent);
    code.atomic_add(Size::Double, Reg::R0, 0, Reg::R6);
    code.exit_with(0);
    code.bind(absent);
    code.store(Size::Double, Reg::R10, VALUE, Reg::R6);
    stack_address(&mut code, Reg::R2, KEY);
    stack_address(&mut code, Reg::R3, VALUE);
    code.load_map(Reg::R1, sums);
    code.mov(Reg::R4, NO_EXIST);
    code.call(Helper::MapUpdate);
    code.bind(out);
    code.exit_with(0);
    code
}

fn stack_address(code: &mut Assembler, to: Reg, at: i16) {
    code.mov(to, Reg::R10);
    code.alu(Alu::Add, to, i32::from(at));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn user(name: &str, pid: u32, cpu: u32) -> CpuUser {
        CpuUser { name: name.to_owned(), pid, cpu }
    }

    #[test]
    fn a_process_is_named_in_parentheses_whatever_its_name_contains() {
        let stat =
            "42 (a b) c) R 1 42 42 0 -1 4194304 100 0 0 0 7 5 0 0 20 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0";
        assert_eq!(parse_stat(42, stat), Some((user("a b) c", 42, 3), 120_000_000)));
        assert_eq!(parse_stat(42, "42 (x) R 1"), None);
    }

    #[test]
    fn processes_of_one_name_are_one_cause() {
        let times = [(user("cc1", 5, 1), 30), (user("cc1", 6, 1), 20), (user("sh", 7, 1), 40), (user("sh", 7, 0), 99)];
        let ranked = rank_by_time(&times.into_iter().collect(), &[1]);
        assert_eq!(ranked, [(user("cc1", 0, 1), 50), (user("sh", 7, 1), 40)]);
    }

    #[test]
    fn time_spent_since_the_start_is_measured_either_way() {
        let mut meters = [CpuTimeMeter::start(), CpuTimeMeter { switches: None, before: read_proc() }];
        let (own, deadline) = (std::process::id(), Instant::now() + Duration::from_secs(60));
        for meter in &mut meters {
            let mut spent_ns = 0;
            while spent_ns <= 20_000_000 && Instant::now() < deadline {
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(50) {}
                std::thread::sleep(Duration::from_millis(5));
                spent_ns = meter.read(&[]).iter().filter(|(user, _)| user.pid == own).map(|(_, ns)| ns).sum::<u64>();
            }
            assert!(spent_ns > 20_000_000, "{meter:?} {spent_ns}");
            assert!(meter.read(&[own]).keys().all(|user| user.pid != own));
        }
    }
}

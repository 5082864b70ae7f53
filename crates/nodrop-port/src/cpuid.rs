//! What the processor says of itself: the CPUID instruction, which needs no privilege.

/// Registers of one leaf and sub-leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What was asked in EAX.
    pub leaf: u32,
    /// What was asked in ECX.
    pub subleaf: u32,
    /// The answer.
    pub eax: u32,
    /// The answer.
    pub ebx: u32,
    /// The answer.
    pub ecx: u32,
    /// The answer.
    pub edx: u32,
}

/// Where each range of leaves begins: basic, hypervisor's, extended. Each says in EAX which of its leaves is the last.
const RANGES: [u32; 3] = [0, 0x4000_0000, 0x8000_0000];
/// More leaves than any processor's range has; a hypervisor may claim any number.
const MOST_LEAVES: u32 = 0x40;
/// Leaves that list their sub-leaves one after another.
const LISTS: [u32; 9] = [0x4, 0x7, 0xb, 0x10, 0x14, 0x18, 0x1f, 0x8000_001d, 0x8000_0026];
/// Sub-leaves that are asked of these.
const MOST_SUBLEAVES: u32 = 16;

/// All leaves of the CPU this thread runs on; none on other architectures.
#[must_use]
pub fn leaves() -> Vec<Leaf> {
    let hypervisor = ask(1, 0).is_some_and(|first| first.ecx >> 31 == 1);
    RANGES
        .into_iter()
        .filter(|&start| start != 0x4000_0000 || hypervisor)
        .flat_map(|start| {
            let last = ask(start, 0).map_or(start, |first| first.eax.clamp(start, start + MOST_LEAVES));
            start..=last
        })
        .flat_map(sublist)
        .collect()
}

fn sublist(leaf: u32) -> Vec<Leaf> {
    let count = if LISTS.contains(&leaf) { MOST_SUBLEAVES } else { 1 };
    let mut found: Vec<Leaf> = (0..count).filter_map(|subleaf| ask(leaf, subleaf)).collect();
    // 0xb, 0x1f and 0x80000026 repeat the number asked and the APIC id after their end
    let end = |each: &Leaf| each.eax == 0 && each.ebx == 0 && (each.ecx == 0 || each.ecx == each.subleaf);
    while found.len() > 1 && found.last().is_some_and(end) {
        found.pop();
    }
    found
}

#[cfg(target_arch = "x86_64")]
fn ask(leaf: u32, subleaf: u32) -> Option<Leaf> {
    // Newer compilers call it safe on this architecture, 1.88 does not yet.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has the instruction, and it changes nothing.
    let answer = unsafe { core::arch::x86_64::__cpuid_count(leaf, subleaf) };
    Some(Leaf { leaf, subleaf, eax: answer.eax, ebx: answer.ebx, ecx: answer.ecx, edx: answer.edx })
}

#[cfg(not(target_arch = "x86_64"))]
fn ask(_leaf: u32, _subleaf: u32) -> Option<Leaf> {
    None
}

#[cfg(test)]
mod tests {
    use super::leaves;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_first_leaf_says_how_many_follow() {
        let all = leaves();
        let last = all.iter().filter(|each| each.leaf < 0x4000_0000).map(|each| each.leaf).max();
        assert_eq!(Some(all[0].eax), last);
    }

    #[test]
    fn no_leaf_is_listed_twice() {
        let mut asked: Vec<_> = leaves().iter().map(|each| (each.leaf, each.subleaf)).collect();
        let count = asked.len();
        asked.dedup();
        assert_eq!(count, asked.len());
    }
}

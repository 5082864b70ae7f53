//! The CPUID instruction: the processor's description of itself; needs no privilege.

/// Registers of one leaf and subleaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Leaf, requested in EAX.
    pub leaf: u32,
    /// Subleaf, requested in ECX.
    pub subleaf: u32,
    /// Result in EAX.
    pub eax: u32,
    /// Result in EBX.
    pub ebx: u32,
    /// Result in ECX.
    pub ecx: u32,
    /// Result in EDX.
    pub edx: u32,
}

/// First leaf of each range: basic, hypervisor, extended. EAX of the first leaf is the number of the last leaf.
const RANGES: [u32; 3] = [0, 0x4000_0000, 0x8000_0000];
/// More leaves than any range of a processor; a hypervisor may report any number.
const MOST_LEAVES: u32 = 0x40;
/// Leaves with a list of subleaves.
const LISTS: [u32; 9] = [0x4, 0x7, 0xb, 0x10, 0x14, 0x18, 0x1f, 0x8000_001d, 0x8000_0026];
/// Number of subleaves to read.
const MOST_SUBLEAVES: u32 = 16;

/// Return all leaves of the CPU that runs this thread; none on other architectures.
#[must_use]
pub fn leaves() -> Vec<Leaf> {
    let hypervisor = cpuid(1, 0).is_some_and(|first| first.ecx >> 31 == 1);
    RANGES
        .into_iter()
        .filter(|&start| start != 0x4000_0000 || hypervisor)
        .flat_map(|start| {
            let last = cpuid(start, 0).map_or(start, |first| first.eax.clamp(start, start + MOST_LEAVES));
            start..=last
        })
        .flat_map(subleaves)
        .collect()
}

fn subleaves(leaf: u32) -> Vec<Leaf> {
    let count = if LISTS.contains(&leaf) { MOST_SUBLEAVES } else { 1 };
    let mut leaves: Vec<Leaf> = (0..count).filter_map(|subleaf| cpuid(leaf, subleaf)).collect();
    // 0xb, 0x1f and 0x80000026 repeat the subleaf number and the APIC id after their end.
    let end = |each: &Leaf| each.eax == 0 && each.ebx == 0 && (each.ecx == 0 || each.ecx == each.subleaf);
    while leaves.len() > 1 && leaves.last().is_some_and(end) {
        leaves.pop();
    }
    leaves
}

#[cfg(target_arch = "x86_64")]
fn cpuid(leaf: u32, subleaf: u32) -> Option<Leaf> {
    // Newer compilers treat the intrinsic as safe on this architecture; 1.88 does not.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has the instruction, and it has no side effects.
    let result = unsafe { core::arch::x86_64::__cpuid_count(leaf, subleaf) };
    Some(Leaf { leaf, subleaf, eax: result.eax, ebx: result.ebx, ecx: result.ecx, edx: result.edx })
}

#[cfg(not(target_arch = "x86_64"))]
fn cpuid(_leaf: u32, _subleaf: u32) -> Option<Leaf> {
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
        let mut numbers: Vec<_> = leaves().iter().map(|each| (each.leaf, each.subleaf)).collect();
        let count = numbers.len();
        numbers.dedup();
        assert_eq!(count, numbers.len());
    }
}

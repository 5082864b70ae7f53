//! Speed of a CPU, by the time of a fixed calculation.
//!
//! A CPU executes less per second while another hardware thread works on its core, and at a lower clock rate. The kernel
//! accounts for neither, nor does it know of the threads that a hypervisor places on the same core for other guests.

use std::fs;
use std::hint::black_box;
use std::time::Instant;

use crate::sched::parse_cpu_list;

/// Rounds of the calculation: half a microsecond to a microsecond on CPUs of today.
const ROUNDS: u64 = 600;
/// Timed calculations; an interrupt may prolong one of them.
const RUNS: usize = 2;

/// Return the time of the calculation on the CPU of the calling thread, in nanoseconds.
#[must_use]
pub fn time_calculation_ns() -> u32 {
    // Loads code and branch history after a sleep.
    black_box(calculate(black_box(ROUNDS / 4)));
    let run = |_| {
        let begin = Instant::now();
        black_box(calculate(black_box(ROUNDS)));
        begin.elapsed().as_nanos() as u32
    };
    (0..RUNS).map(run).min().unwrap_or(0)
}

/// Calculate with eight numbers that do not depend on each other, so that the width of the core limits the speed, which
/// hardware threads share. The operations differ, so that the compiler does not combine them to vectors.
#[inline(never)]
fn calculate(rounds: u64) -> u64 {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = [1_u64, 2, 3, 4, 5, 6, 7, 8];
    for round in 0..rounds {
        a = (a.rotate_left(1) ^ round).wrapping_add(3);
        b = b.wrapping_mul(3).wrapping_add(1);
        c = (c.wrapping_sub(round) ^ 5).rotate_left(7);
        d = d.rotate_right(3).wrapping_add(round);
        e = ((e >> 1) | round).wrapping_add(9);
        f = f.wrapping_add(round) ^ 0x55;
        g = (!g.wrapping_add(7)).rotate_left(3);
        h = h.wrapping_mul(5) ^ round;
    }
    a ^ b ^ c ^ d ^ e ^ f ^ g ^ h
}

/// Return the CPUs that share the core of this one, including itself, as far as the kernel knows.
#[must_use]
pub fn list_core_cpus(cpu: usize) -> Vec<usize> {
    read_cpu_list(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))
}

/// Return the CPUs that the kernel keeps free of other work (`isolcpus`).
#[must_use]
pub fn list_isolated_cpus() -> Vec<usize> {
    read_cpu_list("/sys/devices/system/cpu/isolated")
}

fn read_cpu_list(file: &str) -> Vec<usize> {
    parse_cpu_list(&fs::read_to_string(file).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calculation_takes_about_a_microsecond() {
        let fastest_ns = (0..100).map(|_| time_calculation_ns()).min();
        assert!((50..20_000).contains(&fastest_ns.unwrap_or(0)), "{fastest_ns:?}");
    }

    #[test]
    fn a_cpu_shares_its_core_with_itself() {
        let cpus = list_core_cpus(0);
        assert!(cpus.is_empty() || cpus.contains(&0), "{cpus:?}");
    }
}

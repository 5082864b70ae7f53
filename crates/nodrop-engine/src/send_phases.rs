//! The load phases of a sending port: in each, the loads of its streams are constant.

use nodrop_model::{LoadPattern, LoadPhase};

use crate::pacer::Pacer;
use crate::schedule::Schedule;

/// A phase: its frames, in their order and at their times.
#[derive(Debug)]
pub(crate) struct SendPhase {
    /// Position among the phases of the trial.
    pub(crate) number: usize,
    /// Time at which its first frame is due, since the trial's start.
    begin_ns: u64,
    pub(crate) pacer: Pacer,
    pub(crate) schedule: Schedule,
}

impl SendPhase {
    /// Return the frames that are due at `now_ns`, since the trial's start.
    #[inline]
    pub(crate) fn due_count(&self, now_ns: u64) -> u64 {
        now_ns.checked_sub(self.begin_ns).map_or(0, |elapsed_ns| self.pacer.due_count(elapsed_ns))
    }

    /// Return the departure time of frame `n` of the phase, since the trial's start.
    #[inline]
    pub(crate) fn departure_ns(&self, n: u64) -> u64 {
        self.begin_ns + self.pacer.departure_ns(n)
    }
}

/// The phases in which a port sends, in order; at least one.
#[derive(Debug)]
pub(crate) struct SendPhases {
    phases: Vec<SendPhase>,
    /// End of the last one, since the trial's start.
    pub(crate) end_ns: u64,
}

impl SendPhases {
    /// Create the phases of a port; `streams` are the indices of its streams among all, of which one sends in some
    /// phase.
    pub(crate) fn new(phases: &[LoadPhase<'_>], streams: &[usize], pattern: &LoadPattern, port: usize) -> Self {
        let send_phase = |(number, phase): (usize, &LoadPhase<'_>)| {
            let loads_pps: Vec<f64> = streams.iter().map(|stream| phase.loads_pps[*stream]).collect();
            let load_pps: f64 = loads_pps.iter().sum();
            (load_pps > 0.0).then(|| SendPhase {
                number,
                begin_ns: phase.begin_ns,
                pacer: Pacer::with_pattern(load_pps, phase.duration_s(), pattern, port),
                schedule: Schedule::new(&loads_pps),
            })
        };
        let end_ns = phases.last().map_or(0, |phase| phase.end_ns);
        Self { phases: phases.iter().enumerate().filter_map(send_phase).collect(), end_ns }
    }

    /// Return a phase by its position.
    #[inline]
    pub(crate) fn at(&self, position: usize) -> &SendPhase {
        &self.phases[position]
    }

    /// Move a phase by `delay_ns`.
    pub(crate) fn delay(&mut self, position: usize, delay_ns: u64) {
        self.phases[position].begin_ns += delay_ns;
    }

    pub(crate) fn is_last(&self, position: usize) -> bool {
        position + 1 == self.phases.len()
    }

    /// Return the only phase, if its load is constant and lasts for the whole trial.
    pub(crate) fn single(&self) -> Option<&SendPhase> {
        if let [phase] = &*self.phases { Some(phase).filter(|phase| phase.begin_ns == 0) } else { None }
    }

    /// Shorten or extend the phases to frames due before `end_ns`, which is after the begin of phase `position`.
    pub(crate) fn set_end(&mut self, end_ns: u64, position: usize) {
        let is_later = end_ns > self.end_ns;
        let count = self.phases.partition_point(|phase| phase.begin_ns < end_ns);
        self.phases.truncate(count.max(position + 1));
        if let Some(SendPhase { begin_ns, pacer, .. }) = self.phases.last_mut() {
            let length_ns = end_ns.saturating_sub(*begin_ns);
            *pacer = if is_later { pacer.extended_to(length_ns) } else { pacer.ending_at(length_ns) };
        }
        self.end_ns = end_ns;
    }

    /// Return the frames of each stream that are due before `end_ns`, by index among the port's streams.
    pub(crate) fn frame_counts(&self, end_ns: u64) -> Vec<u64> {
        let before_end = self.phases.iter().filter(|phase| phase.begin_ns < end_ns || phase.begin_ns == 0);
        let counts = before_end.map(|SendPhase { begin_ns, pacer, schedule, .. }| {
            schedule.frame_counts(pacer.ending_at(end_ns - begin_ns).intended_count())
        });
        let sum = |one: Vec<u64>, other: Vec<u64>| one.iter().zip(&other).map(|(one, other)| one + other).collect();
        counts.reduce(sum).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHASES: [(u64, u64, [f64; 3]); 3] = [
        (0, 1_000_000_000, [100.0, 100.0, 0.0]),
        (1_000_000_000, 1_500_000_000, [100.0, 100.0, 200.0]),
        (1_500_000_000, 2_000_000_000, [0.0, 50.0, 0.0]),
    ];

    fn phases(streams: &[usize]) -> SendPhases {
        let phase = |(begin_ns, end_ns, loads_pps): &'static (u64, u64, [f64; 3])| LoadPhase {
            begin_ns: *begin_ns,
            end_ns: *end_ns,
            loads_pps,
        };
        SendPhases::new(&PHASES.iter().map(phase).collect::<Vec<_>>(), streams, &LoadPattern::Flat, 0)
    }

    #[test]
    fn frames_of_each_stream_add_up_over_the_phases() {
        let phases = phases(&[0, 1, 2]);
        assert_eq!(phases.frame_counts(2_000_000_000), [150, 175, 100]);
        assert_eq!(phases.frame_counts(1_250_000_000), [125, 125, 50]);
        assert_eq!(phases.frame_counts(1_000_000_000), [100, 100, 0]);
    }

    #[test]
    fn a_phase_begins_when_the_one_before_it_ends() {
        let phases = phases(&[0, 1, 2]);
        let first_ns: Vec<u64> = (0..3).map(|position| phases.at(position).departure_ns(0)).collect();
        assert_eq!(first_ns, [0, 1_000_000_000, 1_500_000_000]);
        assert_eq!(phases.at(1).due_count(999_999_999), 0);
        assert_eq!(phases.at(1).due_count(1_000_000_000), 1);
        assert_eq!((phases.is_last(1), phases.is_last(2)), (false, true));
    }

    #[test]
    fn a_port_without_load_in_a_phase_leaves_it_out() {
        let phases = phases(&[2]);
        assert_eq!(phases.at(0).departure_ns(0), 1_000_000_000);
        assert!(phases.is_last(0) && phases.single().is_none());
        assert_eq!(phases.frame_counts(2_000_000_000), [100]);
        assert!(phases.frame_counts(900_000_000).is_empty());
    }

    #[test]
    fn an_early_end_leaves_out_later_phases() {
        let mut phases = phases(&[0, 1, 2]);
        phases.set_end(1_250_000_000, 1);
        assert!(phases.is_last(1));
        assert_eq!((phases.at(1).pacer.intended_count(), phases.end_ns), (100, 1_250_000_000));
        phases.set_end(500_000_000, 0);
        assert!(phases.is_last(0));
        assert_eq!(phases.at(0).pacer.intended_count(), 100);
    }
}

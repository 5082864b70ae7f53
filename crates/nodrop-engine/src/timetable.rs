//! Self-paced ports: conversion of streams to timetables, and of reports back to counts.

use nodrop_port::timetable::{EgressPort, Timetable, TrialWindow};
use nodrop_port::{PortError, self_paced};
use nodrop_wire::Frames;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::send_lane::{SendLane, frame};
use crate::shared_counters::SharedCounters;

/// Return the reason why a self-paced port cannot send these streams; None if it can.
#[must_use]
pub fn unsupported_reason<'a>(streams: impl IntoIterator<Item = &'a Frames>) -> Option<String> {
    let frames = streams.into_iter().map(frame).collect::<Result<Vec<_>, _>>();
    let order: Vec<u32> = vec![0];
    let egress = EgressPort { interface_index: 0 };
    let check = |frames| {
        let timetable = Timetable { egress, load_pps: 1.0, frame_count: 1, catch_up_max_ns: 0, frames, order: &order };
        self_paced::unsupported_reason(&[timetable])
    };
    frames.map_or_else(Some, check)
}

/// Send from self-paced ports; return when their timetables have ended.
pub(crate) fn send(mut lanes: Vec<(EgressPort, &mut SendLane<'_>)>, shared: &SharedCounters) -> Result<(), PortError> {
    let Some(trial_tag) = lanes.first().map(|(_, lane)| lane.trial_tag()) else { return Ok(()) };
    let reports = {
        let timetables = lanes
            .iter()
            .map(|(egress, lane)| lane.timetable(*egress))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|message| PortError::Request { port: "timetable".to_owned(), message })?;
        let SharedCounters { start_ns, end_ns, grace_ns, .. } = shared;
        let window = TrialWindow { start_ns: *start_ns, end_ns, grace_ns, trial_tag };
        let readers: Vec<&SendLane<'_>> = lanes.iter().map(|(_, lane)| &**lane).collect();
        let unsent_counts: Vec<AtomicU64> = lanes.iter().map(|_| AtomicU64::new(0)).collect();
        self_paced::send(&timetables, window, |index, progress| {
            readers[index].publish_counts(&progress.sent, shared);
            unsent_counts[index].store(progress.unsent_count, Relaxed);
            shared.unsent.store(unsent_counts.iter().map(|count| count.load(Relaxed)).sum(), Relaxed);
            shared.note_lateness(progress.lateness_ns);
        })?
    };
    for ((_, lane), report) in lanes.iter_mut().zip(&reports) {
        lane.apply_report(report, shared);
        shared.sending.fetch_sub(1, Relaxed);
    }
    Ok(())
}

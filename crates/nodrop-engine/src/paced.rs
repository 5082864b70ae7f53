//! Ports that keep their timetable by themselves: from streams to what they are told, and back from what they report.

use nodrop_model::CATCH_UP_MAX_S;
use nodrop_port::paced::{self, Counter, Exit, Frame, Sitting, Sum, Timetable};
use nodrop_port::{PortError, Transmit};
use nodrop_wire::{Frames, Template};
use std::sync::atomic::Ordering::Relaxed;

use crate::progress::Progress;
use crate::send_lane::SendLane;
use crate::worker::Sender;

/// Why these streams cannot leave by a port that keeps its timetable by itself; None when they can.
#[must_use]
pub fn refusal<'a>(streams: impl IntoIterator<Item = &'a Frames>) -> Option<String> {
    let frames = streams.into_iter().map(frame).collect::<Result<Vec<_>, _>>();
    let order: Vec<u32> = vec![0];
    let exit = Exit { interface_index: 0 };
    let check = |frames| {
        let timetable = Timetable { exit, load_pps: 1.0, frame_count: 1, catch_up_max_ns: 0, frames, order: &order };
        paced::refusal(&[timetable])
    };
    frames.map_or_else(Some, check)
}

/// A stream as such a port is told of it.
pub(crate) fn frame(frames: &Frames) -> Result<Frame<'_>, String> {
    let [template] = frames.templates() else {
        return Err(
            "xdp_live cannot send frames of several sizes or different frames of a file; choose af_xdp or af_packet"
                .to_owned(),
        );
    };
    let changes = template.changes().ok_or(
        "xdp_live cannot send fields from a list, random fields, fields that begin again before they have gone through, or \
        checksums within checksums; choose af_xdp or af_packet",
    )?;
    let counter = |field: &nodrop_wire::CountingField| Counter {
        at: field.at,
        width: field.width,
        first: field.first,
        step: field.step,
        count: field.count,
        every: field.every,
    };
    let sum = |checksum: &nodrop_wire::FollowingChecksum| Sum {
        at: checksum.at,
        static_sum: checksum.static_sum,
        covers_mark: checksum.covers_signature,
        covers: checksum.covers.clone(),
        never_zero: checksum.zero_is_none,
    };
    Ok(Frame {
        bytes: Template::bytes(template),
        mark_at: template.signature_offset(),
        counters: changes.fields.iter().map(counter).collect(),
        sums: changes.checksums.iter().map(sum).collect(),
    })
}

/// Send from all those of a worker's ports that keep their timetables by themselves; returns when they are through.
pub(crate) fn send<T: Transmit>(senders: &mut [Sender<'_, T>], progress: &Progress) -> Result<(), PortError> {
    let mut paced: Vec<(Exit, &mut SendLane<'_>)> =
        senders.iter_mut().filter_map(|sender| Some((sender.port.paced()?, &mut sender.lane))).collect();
    let Some(trial_tag) = paced.first().map(|(_, lane)| lane.trial_tag()) else { return Ok(()) };
    let reports = {
        let timetables = paced
            .iter()
            .map(|(exit, lane)| lane.timetable(*exit))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|message| PortError::Request { port: "xdp_live".to_owned(), message })?;
        let sitting = Sitting {
            start_ns: progress.start_ns,
            end_ns: &progress.end_ns,
            grace_ns: (CATCH_UP_MAX_S * 1e9) as u64,
            trial_tag,
        };
        let lanes: Vec<&SendLane<'_>> = paced.iter().map(|(_, lane)| &**lane).collect();
        paced::send(&timetables, sitting, |at, sent| lanes[at].publish_as(sent, progress))?
    };
    for ((_, lane), report) in paced.iter_mut().zip(&reports) {
        lane.adopt(report, progress);
        progress.sending.fetch_sub(1, Relaxed);
    }
    Ok(())
}

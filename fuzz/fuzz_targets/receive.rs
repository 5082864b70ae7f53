//! The receive path: arbitrary bytes in any order; the counts are compared with an independent evaluation.
#![no_main]

use std::collections::{BTreeSet, VecDeque};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use nodrop_engine::Stream;
use nodrop_engine::fuzzing::{ReceivedCounts, Receiver};
use nodrop_model::{SignatureForm, StreamSpec};
use nodrop_port::{PortError, Receive, ReceivedFrame};
use nodrop_wire::{Frames, Signature, is_intact};

const TRIAL_TAG: u8 = 7;
const IDS: [u16; 2] = [3, 500];
/// Sequence numbers below this are all remembered, so the independent evaluation is exact.
const REMEMBERED: u64 = 1 << 20;
const OFFERED: u64 = 512;

#[derive(Arbitrary, Debug)]
enum Event {
    /// Arbitrary bytes.
    Raw { bytes: Vec<u8>, time_ns: u64 },
    /// A frame as sent.
    Sent { stream: bool, sequence: u8, time_ns: u64 },
    /// A frame far ahead, or of another trial.
    Foreign { stream: bool, sequence: u64, trial_tag: u8 },
    /// A modified or truncated frame.
    Damaged { stream: bool, sequence: u8, at: u8, flip: u8, cut: Option<u8> },
    /// A new loss check.
    LossCheck,
}

/// Waiting arrivals.
struct Waiting(VecDeque<(Vec<u8>, u64)>);

impl Receive for Waiting {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        let count = budget.min(self.0.len());
        self.0.drain(..count).for_each(|(bytes, time_ns)| sink(ReceivedFrame { bytes: &bytes, time_ns }));
        Ok(count)
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        Ok(0)
    }

    fn queue_slots(&self) -> u32 {
        1024
    }

    fn stamps_on_arrival(&self) -> bool {
        false
    }
}

fn stream(id: u16) -> Stream {
    let frames = Frames::new(&StreamSpec::udp(id, 0, 0, 64, 16)).expect("a plain stream");
    Stream { frames, tx_port: 0, rx_port: 0 }
}

fn frame(stream: &Stream, sequence: u64, trial_tag: u8) -> Vec<u8> {
    let (_, template) = stream.frames.template(sequence);
    let mut bytes = template.bytes().to_vec();
    template.complete(&mut template.slot_state(), &mut bytes, sequence, 1, trial_tag);
    bytes
}

/// Flip bits of one byte of the signature after its magic word; the checksum must detect it.
fn damaged_frame(stream: &Stream, sequence: u8, at: u8, flip: u8, cut: Option<u8>) -> Vec<u8> {
    let mut bytes = frame(stream, sequence.into(), TRIAL_TAG);
    let signature = stream.frames.template(0).1.signature_offset();
    let rest = signature + 4..bytes.len();
    bytes[rest.start + usize::from(at) % rest.len()] ^= flip;
    assert_eq!(is_intact(&bytes, signature), flip == 0);
    if let Some(cut) = cut {
        bytes.truncate(cut.into());
    }
    bytes
}

/// Sequence numbers of a stream in order of first arrival, and the number of repeats.
#[derive(Default)]
struct Arrivals {
    order: Vec<u64>,
    seen: BTreeSet<u64>,
    repeats: u64,
}

impl Arrivals {
    fn record(&mut self, sequence: u64) {
        if self.seen.insert(sequence) {
            self.order.push(sequence);
        } else {
            self.repeats += 1;
        }
    }

    /// RFC 4737 sections 3.3 and 4.2.2: for each reordered frame, the frames that arrived since the first later one.
    fn extents(&self) -> Vec<u64> {
        let extent = |(at, sequence): (usize, &u64)| {
            self.order[..at].iter().position(|before| before > sequence).map(|first| (at - first) as u64)
        };
        self.order.iter().enumerate().filter_map(extent).collect()
    }

    /// Return the number of runs of numbers below `OFFERED` that never arrived, and the longest.
    fn losses(&self) -> (u64, u64) {
        let (mut runs, mut run, mut longest) = (0, 0, 0);
        for sequence in 0..OFFERED {
            run = if self.seen.contains(&sequence) { 0 } else { run + 1 };
            runs += u64::from(run == 1);
            longest = longest.max(run);
        }
        (runs, longest)
    }

    fn compare(&self, counts: &ReceivedCounts) {
        assert_eq!(counts.received + counts.duplicates, self.order.len() as u64 + self.repeats);
        if self.seen.last().is_some_and(|last| *last >= REMEMBERED) {
            return;
        }
        assert_eq!((counts.received, counts.duplicates), (self.order.len() as u64, self.repeats));
        let runs = counts.loss_runs.map_or((0, 0), |runs| (runs.count, runs.longest));
        assert_eq!(runs, self.losses());
        let extents = self.extents();
        let reordering = counts.reordering.as_ref();
        assert_eq!(reordering.map_or(0, |reordering| reordering.count), extents.len() as u64);
        assert_eq!(
            reordering.map_or(0, |reordering| reordering.extent_max),
            extents.iter().copied().max().unwrap_or(0)
        );
        assert_eq!(reordering.map_or(0, |reordering| reordering.extent_counts.iter().sum()), extents.len() as u64);
    }
}

fuzz_target!(init: nodrop_fuzz::keep_overflows(), |events: Vec<Event>| {
    let streams = IDS.map(stream);
    let stream_of = |second: bool| &streams[usize::from(second)];
    let offsets: Vec<usize> = streams[0].frames.rx_offsets().to_vec();
    let mut receiver = Receiver::new(&streams, TRIAL_TAG);
    let mut arrivals = [Arrivals::default(), Arrivals::default()];
    let mut corrupted = 0;
    for event in events {
        let (bytes, time_ns) = match event {
            Event::Raw { bytes, time_ns } => (bytes, time_ns),
            Event::Sent { stream, sequence, time_ns } => (frame(stream_of(stream), sequence.into(), TRIAL_TAG), time_ns),
            Event::Foreign { stream, sequence, trial_tag } => (frame(stream_of(stream), sequence, trial_tag), 0),
            Event::Damaged { stream, sequence, at, flip, cut } => (damaged_frame(stream_of(stream), sequence, at, flip, cut), 1),
            Event::LossCheck => {
                receiver.check_losses();
                continue;
            }
        };
        if let Some((signature, offset)) = Signature::find(&bytes, SignatureForm::Payload, &offsets) {
            let intact = bytes.len() > nodrop_port::SNAP_BYTES || is_intact(&bytes, offset);
            corrupted += u64::from(!intact);
            let index = IDS.iter().position(|id| *id == signature.stream_id);
            if let Some(index) = index.filter(|_| intact && signature.trial_tag == TRIAL_TAG) {
                arrivals[index].record(signature.sequence);
            }
        }
        let mut waiting = Waiting(VecDeque::from([(bytes, time_ns)]));
        receiver.receive(&mut waiting).expect("this port never fails");
    }
    assert_eq!(receiver.corrupted_count(), corrupted);
    for (stream_arrivals, counts) in arrivals.iter().zip(receiver.counts(OFFERED)) {
        stream_arrivals.compare(&counts);
    }
});

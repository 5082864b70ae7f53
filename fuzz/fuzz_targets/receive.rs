//! The receive path: any bytes in any order, and what is counted of them held against a plain account of the same frames.
#![no_main]

use std::collections::{BTreeSet, VecDeque};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use nodrop_engine::Stream;
use nodrop_engine::fuzzing::{Counted, Receiver};
use nodrop_model::StreamSpec;
use nodrop_port::{PortError, Receive, Received};
use nodrop_wire::{Frames, Signature, is_intact};

const TRIAL_TAG: u8 = 7;
const IDS: [u16; 2] = [3, 500];
/// Numbers below this are all remembered, so that a plain account says the same.
const REMEMBERED: u64 = 1 << 20;
const OFFERED: u64 = 512;

#[derive(Arbitrary, Debug)]
enum Event {
    /// Bytes from anywhere.
    Raw { bytes: Vec<u8>, time_ns: u64 },
    /// A frame of a stream, as it was sent.
    Sent { stream: bool, sequence: u8, time_ns: u64 },
    /// One from far ahead, or of another trial.
    Strange { stream: bool, sequence: u64, trial_tag: u8 },
    /// One that was changed on its way, or cut.
    Spoiled { stream: bool, sequence: u8, at: u8, flip: u8, cut: Option<u8> },
    /// The conductor looks.
    Look,
}

/// Arrivals that wait.
struct Waiting(VecDeque<(Vec<u8>, u64)>);

impl Receive for Waiting {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(Received<'_>)) -> Result<usize, PortError> {
        let count = budget.min(self.0.len());
        self.0.drain(..count).for_each(|(bytes, time_ns)| sink(Received { bytes: &bytes, time_ns }));
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
    let (_, template) = stream.frames.of(sequence);
    let mut bytes = template.bytes().to_vec();
    template.complete(&mut template.lasting(), &mut bytes, sequence, 1, trial_tag);
    bytes
}

/// Change one byte of the signature behind its magic word: the checksum must tell.
fn spoil(stream: &Stream, sequence: u8, at: u8, flip: u8, cut: Option<u8>) -> Vec<u8> {
    let mut bytes = frame(stream, sequence.into(), TRIAL_TAG);
    let signature = stream.frames.of(0).1.signature_offset();
    let behind = signature + 4..bytes.len();
    bytes[behind.start + usize::from(at) % behind.len()] ^= flip;
    assert_eq!(is_intact(&bytes, signature), flip == 0);
    if let Some(cut) = cut {
        bytes.truncate(cut.into());
    }
    bytes
}

/// Numbers of a stream in the order of their first arrivals, and how many were repeats.
#[derive(Default)]
struct Account {
    order: Vec<u64>,
    known: BTreeSet<u64>,
    repeats: u64,
}

impl Account {
    fn note(&mut self, sequence: u64) {
        if self.known.insert(sequence) {
            self.order.push(sequence);
        } else {
            self.repeats += 1;
        }
    }

    /// RFC 4737 sections 3.3 and 4.2.2: frames after a later one, each by how many arrived since the first such.
    fn extents(&self) -> Vec<u64> {
        let extent = |(at, sequence): (usize, &u64)| {
            self.order[..at].iter().position(|before| before > sequence).map(|first| (at - first) as u64)
        };
        self.order.iter().enumerate().filter_map(extent).collect()
    }

    /// Runs of numbers below `OFFERED` that never came: how many, the longest.
    fn losses(&self) -> (u64, u64) {
        let (mut runs, mut run, mut longest) = (0, 0, 0);
        for sequence in 0..OFFERED {
            run = if self.known.contains(&sequence) { 0 } else { run + 1 };
            runs += u64::from(run == 1);
            longest = longest.max(run);
        }
        (runs, longest)
    }

    fn compare(&self, counted: &Counted) {
        assert_eq!(counted.received + counted.duplicates, self.order.len() as u64 + self.repeats);
        if self.known.last().is_some_and(|last| *last >= REMEMBERED) {
            return;
        }
        assert_eq!((counted.received, counted.duplicates), (self.order.len() as u64, self.repeats));
        let runs = counted.loss_runs.map_or((0, 0), |runs| (runs.count, runs.longest));
        assert_eq!(runs, self.losses());
        let extents = self.extents();
        let found = counted.reordering.as_ref();
        assert_eq!(found.map_or(0, |found| found.count), extents.len() as u64);
        assert_eq!(found.map_or(0, |found| found.extent_max), extents.iter().copied().max().unwrap_or(0));
        assert_eq!(found.map_or(0, |found| found.extent_counts.iter().sum()), extents.len() as u64);
    }
}

fuzz_target!(init: nodrop_fuzz::keep_overflows(), |events: Vec<Event>| {
    let streams = IDS.map(stream);
    let of = |second: bool| &streams[usize::from(second)];
    let offsets: Vec<usize> = streams[0].frames.rx_offsets().to_vec();
    let mut receiver = Receiver::new(&streams, TRIAL_TAG);
    let mut accounts = [Account::default(), Account::default()];
    let mut corrupted = 0;
    for event in events {
        let (bytes, time_ns) = match event {
            Event::Raw { bytes, time_ns } => (bytes, time_ns),
            Event::Sent { stream, sequence, time_ns } => (frame(of(stream), sequence.into(), TRIAL_TAG), time_ns),
            Event::Strange { stream, sequence, trial_tag } => (frame(of(stream), sequence, trial_tag), 0),
            Event::Spoiled { stream, sequence, at, flip, cut } => (spoil(of(stream), sequence, at, flip, cut), 1),
            Event::Look => {
                receiver.look();
                continue;
            }
        };
        if let Some((signature, offset)) = Signature::find(&bytes, &offsets) {
            let intact = bytes.len() > nodrop_port::SNAP_BYTES || is_intact(&bytes, offset);
            corrupted += u64::from(!intact);
            let known = IDS.iter().position(|id| *id == signature.stream_id);
            if let Some(known) = known.filter(|_| intact && signature.trial_tag == TRIAL_TAG) {
                accounts[known].note(signature.sequence);
            }
        }
        let mut waiting = Waiting(VecDeque::from([(bytes, time_ns)]));
        receiver.receive(&mut waiting).expect("this port never fails");
    }
    assert_eq!(receiver.corrupted_count(), corrupted);
    for (account, counted) in accounts.iter().zip(receiver.counted(OFFERED)) {
        account.compare(&counted);
    }
});

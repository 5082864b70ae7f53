//! A receiver's way from bytes to counts, open to fuzz targets (`fuzz/`). Built with `--cfg fuzzing` only.

use nodrop_model::{LossRuns, Reordering};
use nodrop_port::clock::Clock;
use nodrop_port::{PortError, Receive};
use std::sync::atomic::Ordering::Relaxed;

use crate::Stream;
use crate::progress::Progress;
use crate::receive_lane::{Incoming, ReceiveLane};

/// One port's arrivals in one trial.
#[derive(Debug)]
pub struct Receiver {
    lane: ReceiveLane,
    progress: Progress,
}

/// What was counted of a stream.
#[derive(Debug)]
pub struct Counted {
    /// Distinct frames.
    pub received: u64,
    /// Repeats.
    pub duplicates: u64,
    /// Frames out of order.
    pub reordering: Option<Reordering>,
    /// Losses among the frames that were sent.
    pub loss_runs: Option<LossRuns>,
}

/// A clock that always says the same.
#[derive(Debug)]
struct Stopped;

impl Clock for Stopped {
    fn steady_ns(&self) -> u64 {
        1 << 40
    }

    fn wall_ns(&self) -> u64 {
        1 << 60
    }
}

impl Receiver {
    /// For all these streams; each is a group of its own.
    #[must_use]
    pub fn new(streams: &[Stream], trial_tag: u8) -> Self {
        let incoming: Vec<_> = streams
            .iter()
            .enumerate()
            .map(|(stream, of)| Incoming {
                stream,
                stream_id: of.frames.stream_id(),
                rx_offsets: of.frames.rx_offsets(),
                group: stream,
                times: stream,
            })
            .collect();
        Self { lane: ReceiveLane::new(&incoming, trial_tag, 1), progress: Progress::new(0, 0, streams.len(), 0) }
    }

    /// Take a batch of what waits; gives how many frames it was.
    ///
    /// # Errors
    /// The port's.
    pub fn receive<R: Receive>(&mut self, port: &mut R) -> Result<usize, PortError> {
        self.lane.receive(port, &Stopped, &self.progress)
    }

    /// The conductor looks.
    pub fn look(&mut self) {
        self.progress.look.fetch_add(1, Relaxed);
    }

    /// What was counted of each stream, of which `offered_count` frames were sent.
    #[must_use]
    pub fn counted(&self, offered_count: u64) -> Vec<Counted> {
        let counted = |inbox: &crate::receive_lane::Inbox| Counted {
            received: inbox.tracker.received_count(),
            duplicates: inbox.tracker.duplicate_count(),
            reordering: inbox.tracker.reordering().cloned(),
            loss_runs: inbox.tracker.loss_runs(offered_count),
        };
        self.lane.inboxes.iter().map(counted).collect()
    }

    /// Frames that arrived with other content than was sent.
    #[must_use]
    pub fn corrupted_count(&self) -> u64 {
        self.lane.corrupted_count
    }
}

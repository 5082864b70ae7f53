//! The receive path from bytes to counts, exposed to fuzz targets (`fuzz/`). Built only with `--cfg fuzzing`.

use nodrop_model::{LossRuns, Reordering};
use nodrop_port::clock::Clock;
use nodrop_port::{PortError, Receive};
use std::sync::atomic::Ordering::Relaxed;

use crate::Stream;
use crate::receive_lane::{IncomingStream, ReceiveLane, ReceiveRecords};
use crate::shared_counters::SharedCounters;

/// The receiver of one port in one trial.
#[derive(Debug)]
pub struct Receiver {
    lane: ReceiveLane,
    shared: SharedCounters,
}

/// Counts of one stream.
#[derive(Debug)]
pub struct ReceivedCounts {
    /// Distinct frames.
    pub received: u64,
    /// Repeated frames.
    pub duplicates: u64,
    /// Frames out of order.
    pub reordering: Option<Reordering>,
    /// LiveLoss among the frames sent.
    pub loss_runs: Option<LossRuns>,
}

/// A clock with constant time.
#[derive(Debug)]
struct FixedClock;

impl Clock for FixedClock {
    fn steady_ns(&self) -> u64 {
        1 << 40
    }

    fn wall_ns(&self) -> u64 {
        1 << 60
    }
}

impl Receiver {
    /// Create a receiver for these streams; each is a series of its own.
    #[must_use]
    pub fn new(streams: &[Stream], trial_tag: u8) -> Self {
        let incoming: Vec<_> = streams
            .iter()
            .enumerate()
            .map(|(index, stream)| IncomingStream {
                stream: index,
                stream_id: stream.frames.stream_id(),
                signature: stream.frames.signature(),
                rx_offsets: stream.frames.rx_offsets(),
                series: index,
                times: index,
                arrival_check: stream.frames.arrival_check(),
            })
            .collect();
        let records = ReceiveRecords { loss_run_max: usize::MAX, window_latency: true };
        Self {
            lane: ReceiveLane::new(&incoming, trial_tag, 1, records),
            shared: SharedCounters::new(0, 0, streams.len(), 0),
        }
    }

    /// Receive a batch of waiting frames; return their number.
    ///
    /// # Errors
    /// If the port fails.
    pub fn receive<R: Receive>(&mut self, port: &mut R) -> Result<usize, PortError> {
        self.lane.receive(port, &FixedClock, &self.shared)
    }

    /// Start a new loss check.
    pub fn check_losses(&mut self) {
        self.shared.loss_check.fetch_add(1, Relaxed);
    }

    /// Return the counts of each stream, of which `offered_count` frames were sent.
    #[must_use]
    pub fn counts(&self, offered_count: u64) -> Vec<ReceivedCounts> {
        let counts = |inbox: &crate::receive_lane::Inbox| ReceivedCounts {
            received: inbox.tracker.received_count(),
            duplicates: inbox.tracker.duplicate_count(),
            reordering: inbox.tracker.reordering().cloned(),
            loss_runs: inbox.tracker.loss_runs(offered_count),
        };
        self.lane.inboxes.iter().map(counts).collect()
    }

    /// Return the frames received with modified content.
    #[must_use]
    pub fn corrupted_count(&self) -> u64 {
        self.lane.corrupted_count
    }
}

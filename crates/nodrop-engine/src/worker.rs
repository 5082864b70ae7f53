//! One thread of a trial: its share of the lanes, taken in turn until sending is over and the conductor says enough.

use nodrop_port::clock::Clock;
use nodrop_port::{PortError, Receive, Transmit, thread};
use std::sync::atomic::Ordering::Relaxed;

use crate::paced;
use crate::progress::Progress;
use crate::receive_lane::ReceiveLane;
use crate::send_lane::SendLane;

/// Shorter waits are spent spinning, because a sleep may end that late.
const SPIN_NS: u64 = 150_000;
/// How long a thread with nothing to send leaves its receive queues alone.
const RECEIVE_NAP_NS: u64 = 50_000;

/// A sending port.
pub(crate) struct Sender<'a, T> {
    /// Its position among all ports.
    pub(crate) index: usize,
    pub(crate) port: &'a mut T,
    pub(crate) lane: SendLane<'a>,
}

/// A receiving port.
pub(crate) struct Receiver<'a, R> {
    pub(crate) port: &'a mut R,
    pub(crate) lane: ReceiveLane,
}

/// The share of one thread.
pub(crate) struct Worker<'a, T, R> {
    pub(crate) senders: Vec<Sender<'a, T>>,
    pub(crate) receivers: Vec<Receiver<'a, R>>,
    /// Time its thread was kept off its CPU.
    pub(crate) cpu_wait_ns: u64,
}

/// Tells the conductor when a worker ends by an error or a panic.
struct Alarm<'a>(&'a Progress);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.failed.store(true, Relaxed);
    }
}

impl<'a, T: Transmit, R: Receive> Worker<'a, T, R> {
    /// Work until the trial is over; gives itself back for its counts to be read.
    pub(crate) fn run(self, core: Option<usize>, clock: &impl Clock, progress: &Progress) -> Result<Self, PortError> {
        let alarm = Alarm(progress);
        let worker = self.work(core, clock, progress)?;
        std::mem::forget(alarm);
        Ok(worker)
    }

    fn work(mut self, core: Option<usize>, clock: &impl Clock, progress: &Progress) -> Result<Self, PortError> {
        thread::sharpen_sleep();
        if let Some(core) = core {
            thread::bind_to_cores(&[core])?;
        }
        let waited_before_ns = thread::cpu_wait_ns();
        paced::send(&mut self.senders, progress)?;
        loop {
            let sent = self.send(clock, progress)?;
            let received = self.receive(clock, progress)?;
            if self.is_over(progress) || progress.failed.load(Relaxed) {
                self.cpu_wait_ns = thread::cpu_wait_ns().saturating_sub(waited_before_ns);
                return Ok(self);
            }
            if sent == 0 && received == 0 {
                self.rest(clock, progress);
            }
        }
    }

    fn send(&mut self, clock: &impl Clock, progress: &Progress) -> Result<u64, PortError> {
        let mut sent = 0;
        for Sender { port, lane, .. } in self.senders.iter_mut().filter(|sender| !sender.lane.is_done()) {
            sent += lane.send_due(*port, clock, progress)?;
        }
        Ok(sent)
    }

    fn receive(&mut self, clock: &impl Clock, progress: &Progress) -> Result<usize, PortError> {
        let mut received = 0;
        for Receiver { port, lane } in &mut self.receivers {
            received += lane.receive(*port, clock, progress)?;
        }
        Ok(received)
    }

    fn is_over(&self, progress: &Progress) -> bool {
        self.next_due_ns().is_none() && (self.receivers.is_empty() || progress.stop_receiving.load(Relaxed))
    }

    fn next_due_ns(&self) -> Option<u64> {
        self.senders.iter().map(|sender| &sender.lane).filter(|lane| !lane.is_done()).map(SendLane::next_due_ns).min()
    }

    /// Nothing was due: sleep when there is time to, else stay awake.
    fn rest(&self, clock: &impl Clock, progress: &Progress) {
        if self.receivers.iter().any(|receiver| !receiver.port.stamps_on_arrival()) {
            return std::hint::spin_loop();
        }
        let Some(due_ns) = self.next_due_ns() else { return thread::sleep_ns(RECEIVE_NAP_NS) };
        let wait_ns = (progress.start_ns + due_ns).saturating_sub(clock.steady_ns());
        if wait_ns > SPIN_NS {
            let nap_ns = wait_ns - SPIN_NS / 2;
            thread::sleep_ns(if self.receivers.is_empty() { nap_ns } else { nap_ns.min(RECEIVE_NAP_NS) });
        } else {
            std::hint::spin_loop();
        }
    }
}

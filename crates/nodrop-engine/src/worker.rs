//! One thread of a trial: serves its lanes round robin until sending is over and the conductor stops it.

use nodrop_port::clock::Clock;
use nodrop_port::sched::ThreadTimes;
use nodrop_port::{PortError, Receive, Transmit, thread};
use std::sync::atomic::Ordering::Relaxed;

use crate::receive_lane::ReceiveLane;
use crate::send_lane::SendLane;
use crate::shared_counters::SharedCounters;
use crate::timetable;

/// Waits shorter than this are spent spinning, because a sleep may end that late.
const SPIN_NS: u64 = 150_000;
/// Interval between reads of the receive queues while a thread has no frames to send.
const RECEIVE_NAP_NS: u64 = 50_000;

/// A sending port.
pub(crate) struct Sender<'a, T> {
    /// Index among all ports.
    pub(crate) index: usize,
    pub(crate) port: &'a mut T,
    pub(crate) lane: SendLane<'a>,
}

/// A receiving port.
pub(crate) struct Receiver<'a, R> {
    pub(crate) port: &'a mut R,
    pub(crate) lane: ReceiveLane,
}

/// The lanes of one thread.
pub(crate) struct Worker<'a, T, R> {
    pub(crate) senders: Vec<Sender<'a, T>>,
    pub(crate) receivers: Vec<Receiver<'a, R>>,
    /// CPU time of the thread during the trial.
    pub(crate) cpu_times: ThreadTimes,
}

/// Notifies the conductor if a worker ends by an error or a panic.
struct FailureGuard<'a>(&'a SharedCounters);

impl Drop for FailureGuard<'_> {
    fn drop(&mut self) {
        self.0.failed.store(true, Relaxed);
    }
}

impl<'a, T: Transmit, R: Receive> Worker<'a, T, R> {
    /// Work until the trial is over; return the worker so that its counts can be read.
    pub(crate) fn run(
        self,
        core: Option<usize>,
        clock: &impl Clock,
        shared: &SharedCounters,
    ) -> Result<Self, PortError> {
        let guard = FailureGuard(shared);
        let worker = self.work(core, clock, shared)?;
        std::mem::forget(guard);
        Ok(worker)
    }

    fn work(mut self, core: Option<usize>, clock: &impl Clock, shared: &SharedCounters) -> Result<Self, PortError> {
        thread::reduce_timer_slack();
        if let Some(core) = core {
            thread::bind_to_cores(&[core])?;
        }
        shared.register_worker();
        let times_before = ThreadTimes::read_current();
        let lanes = self.senders.iter_mut().filter_map(|sender| Some((sender.port.egress_port()?, &mut sender.lane)));
        timetable::send(lanes.collect(), shared)?;
        loop {
            let sent = self.send(clock, shared)?;
            let received = self.receive(clock, shared)?;
            if self.is_over(shared) || shared.failed.load(Relaxed) {
                self.cpu_times = ThreadTimes::read_current().since(times_before);
                return Ok(self);
            }
            if sent == 0 && received == 0 {
                self.idle(clock, shared);
            }
        }
    }

    fn send(&mut self, clock: &impl Clock, shared: &SharedCounters) -> Result<u64, PortError> {
        let mut sent = 0;
        for Sender { port, lane, .. } in self.senders.iter_mut().filter(|sender| !sender.lane.is_done()) {
            sent += lane.send_due(*port, clock, shared)?;
        }
        Ok(sent)
    }

    fn receive(&mut self, clock: &impl Clock, shared: &SharedCounters) -> Result<usize, PortError> {
        let mut received = 0;
        for Receiver { port, lane } in &mut self.receivers {
            received += lane.receive(*port, clock, shared)?;
        }
        Ok(received)
    }

    fn is_over(&self, shared: &SharedCounters) -> bool {
        self.next_due_ns().is_none() && (self.receivers.is_empty() || shared.stop_receiving.load(Relaxed))
    }

    fn next_due_ns(&self) -> Option<u64> {
        self.senders.iter().map(|sender| &sender.lane).filter(|lane| !lane.is_done()).map(SendLane::next_due_ns).min()
    }

    /// Idle: sleep if there is enough time, otherwise spin.
    fn idle(&self, clock: &impl Clock, shared: &SharedCounters) {
        if self.receivers.iter().any(|receiver| !receiver.port.stamps_on_arrival()) {
            return std::hint::spin_loop();
        }
        let Some(due_ns) = self.next_due_ns() else { return thread::sleep_ns(RECEIVE_NAP_NS) };
        let wait_ns = (shared.start_ns + due_ns).saturating_sub(clock.steady_ns());
        if wait_ns > SPIN_NS {
            let nap_ns = wait_ns - SPIN_NS / 2;
            thread::sleep_ns(if self.receivers.is_empty() { nap_ns } else { nap_ns.min(RECEIVE_NAP_NS) });
        } else {
            std::hint::spin_loop();
        }
    }
}

//! Resolution of IP addresses to MAC addresses: requests, waiting for replies, results.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nodrop_model::{Query, ResolveReply, ResolveRequest, ResolvedAddress};
use nodrop_port::Transmit;
use nodrop_wire::{MacAddr, Message, NeighborMessage};

use super::responder::Responder;
use super::station::Station;
use crate::EngineError;

/// Maximum number of queries per request.
const QUERIES_MAX: usize = 4096;
/// Maximum number of unresolved addresses named in an error.
const NAMED_MAX: usize = 4;
/// Maximum number of unrelated messages quoted in an error.
const UNRELATED_MAX: usize = 3;

/// The current request, shared with the responder thread.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    pending: Mutex<Pending>,
    resolved: Condvar,
}

#[derive(Debug, Default)]
struct Pending {
    queries: Vec<PendingQuery>,
    /// Unrelated messages: index of the responder, text.
    unrelated: Vec<(usize, String)>,
    unrelated_count: usize,
}

#[derive(Clone, Debug)]
struct PendingQuery {
    responder: usize,
    query: Query,
    mac: Option<MacAddr>,
    tries: u32,
}

impl Resolver {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Record a received message: complete the queries it answers.
    pub(super) fn record(&self, responder: usize, stations: &[Station], received: &NeighborMessage) {
        let (address, mac) = match received.message {
            Message::Reply { address, mac } => (address, mac),
            // A request also contains its sender's address (RFC 826, RFC 4861 section 7.2.3).
            Message::Request { sender, sender_mac, .. } => (sender, sender_mac),
        };
        let mut pending = self.lock();
        if pending.queries.iter().all(|query| query.mac.is_some()) {
            return;
        }
        let mut is_reply = false;
        for pending_query in
            pending.queries.iter_mut().filter(|query| query.responder == responder && query.query.address == address)
        {
            if stations[pending_query.query.station].tags == received.tags {
                pending_query.mac = Some(mac);
                is_reply = true;
            }
        }
        if is_reply {
            self.resolved.notify_all();
        } else {
            pending.unrelated_count += 1;
            if pending.unrelated.len() < UNRELATED_MAX {
                pending.unrelated.push((responder, describe(received)));
            }
        }
    }

    pub(super) fn resolve<T: Transmit>(
        &self,
        responders: &[Responder<T>],
        request: &ResolveRequest,
    ) -> Result<ResolveReply, EngineError> {
        let queries = check(responders, request)?;
        *self.lock() = Pending { queries, ..Pending::default() };
        for _ in 0..request.tries {
            for (index, pending) in self.unresolved() {
                let responder = &responders[pending.responder];
                responder.request(&responder.stations[pending.query.station], pending.query.address);
                self.lock().queries[index].tries += 1;
            }
            self.wait_for_replies(Duration::from_secs_f64(request.timeout_s));
        }
        let pending = std::mem::take(&mut *self.lock());
        let unresolved: Vec<&PendingQuery> = pending.queries.iter().filter(|query| query.mac.is_none()).collect();
        if unresolved.is_empty() {
            return Ok(ResolveReply { answers: pending.queries.iter().filter_map(resolved_address).collect() });
        }
        let errors =
            unresolved.iter().take(NAMED_MAX).map(|query| unresolved_error(responders, query, &pending, request));
        let more =
            unresolved.len().checked_sub(NAMED_MAX).filter(|more| *more > 0).map(|more| format!("and {more} more"));
        Err(EngineError::Neighbor(errors.chain(more).collect::<Vec<String>>().join("; ")))
    }

    fn unresolved(&self) -> Vec<(usize, PendingQuery)> {
        self.lock().queries.iter().cloned().enumerate().filter(|(_, query)| query.mac.is_none()).collect()
    }

    fn wait_for_replies(&self, timeout: Duration) {
        let (end, mut pending) = (Instant::now() + timeout, self.lock());
        while pending.queries.iter().any(|query| query.mac.is_none()) {
            let remaining = end.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return;
            }
            pending = self.resolved.wait_timeout(pending, remaining).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn check<T: Transmit>(responders: &[Responder<T>], request: &ResolveRequest) -> Result<Vec<PendingQuery>, EngineError> {
    let error = |message: String| Err(EngineError::Request(message));
    if !(request.timeout_s > 0.0 && request.timeout_s <= 60.0) {
        return error(format!(
            "timeout_s: {} is out of range; use a timeout above 0 and at most 60",
            request.timeout_s
        ));
    }
    if !(1..=100).contains(&request.tries) {
        return error(format!("tries: {} is out of range; use 1 to 100", request.tries));
    }
    if request.queries.len() > QUERIES_MAX {
        return error(format!("questions: {} are too many; use at most {QUERIES_MAX}", request.queries.len()));
    }
    let mut queries = Vec::new();
    for query in &request.queries {
        let Query { port, station, address } = query;
        let Some(responder) = responders.iter().position(|responder| responder.port == *port) else {
            return error(format!("questions: port {port} has no stations; open it with a station"));
        };
        let Some(sender) = responders[responder].stations.get(*station) else {
            let count = responders[responder].stations.len();
            return error(format!(
                "questions: station {station} of port {port} does not exist; use an index below {count}"
            ));
        };
        if sender.source_address(*address).is_none() {
            let name = &responders[responder].name;
            return error(format!(
                "{name}: cannot resolve {address}, station {sender} has no address of its IP version; add one"
            ));
        }
        queries.push(PendingQuery { responder, query: query.clone(), mac: None, tries: 0 });
    }
    Ok(queries)
}

fn resolved_address(pending: &PendingQuery) -> Option<ResolvedAddress> {
    let Query { port, station, address } = pending.query;
    Some(ResolvedAddress { port, station, address, mac: pending.mac?.to_string(), tries: pending.tries })
}

/// Describe an unresolved address: sender, method, number of tries, and messages received instead.
fn unresolved_error<T: Transmit>(
    responders: &[Responder<T>],
    unresolved: &PendingQuery,
    pending: &Pending,
    request: &ResolveRequest,
) -> String {
    let responder = &responders[unresolved.responder];
    let station = &responder.stations[unresolved.query.station];
    let address = unresolved.query.address;
    let method = if address.is_ipv4() { "ARP" } else { "neighbor solicitation" };
    let source = station.source_address(address).map(|source| source.to_string()).unwrap_or_default();
    let seconds = request.timeout_s * f64::from(request.tries);
    let mut unrelated: Vec<&str> = pending
        .unrelated
        .iter()
        .filter(|(index, _)| *index == unresolved.responder)
        .map(|(_, text)| text.as_str())
        .collect();
    unrelated.dedup();
    let requests =
        if unresolved.tries == 1 { "1 request".to_owned() } else { format!("{} requests", unresolved.tries) };
    let received = if unrelated.is_empty() { "nothing".to_owned() } else { unrelated.join(", ") };
    format!(
        "{}: no reply to {} for {address} by {method} from {source} ({station}) in {seconds} s, received instead: \
         {received}; check that a station with this address is up on that link and in that VLAN",
        responder.name, requests,
    )
}

fn describe(received: &NeighborMessage) -> String {
    let tags: String = received.tags.iter().map(|tag| format!(" in VLAN {}", tag.id)).collect();
    match received.message {
        Message::Reply { address, mac } => format!("{address} is at {mac}{tags}"),
        Message::Request { target, sender, sender_mac } => format!("{sender} ({sender_mac}) requests {target}{tags}"),
    }
}

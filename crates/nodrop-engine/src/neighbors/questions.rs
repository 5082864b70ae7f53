//! Addresses whose MAC address is wanted: asked for, waited for, told.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nodrop_model::{Answer, Question, Resolve, Resolved};
use nodrop_port::Transmit;
use nodrop_wire::{Heard, MacAddr, Message};

use super::desk::Desk;
use super::station::Station;
use crate::EngineError;

/// Questions at once at most.
const QUESTIONS_MAX: usize = 4096;
/// Silent ones named in an error.
const NAMED_MAX: usize = 4;
/// Other messages remembered for an error.
const OTHERS_MAX: usize = 3;

/// What is being asked.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Mutex<Open>,
    told: Condvar,
}

#[derive(Debug, Default)]
struct Open {
    asked: Vec<Asked>,
    /// What was heard besides answers: by desk, as text.
    others: Vec<(usize, String)>,
    other_count: usize,
}

#[derive(Clone, Debug)]
struct Asked {
    desk: usize,
    question: Question,
    mac: Option<MacAddr>,
    tries: u32,
}

impl Questions {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message came to a desk: does it say where somebody is who is asked for?
    pub(super) fn note(&self, desk: usize, stations: &[Station], heard: &Heard) {
        let (address, mac) = match heard.message {
            Message::Answer { address, mac } => (address, mac),
            // Whoever asks also tells where it is (RFC 826, RFC 4861 section 7.2.3).
            Message::Question { asker, asker_mac, .. } => (asker, asker_mac),
        };
        let mut open = self.lock();
        if open.asked.iter().all(|asked| asked.mac.is_some()) {
            return;
        }
        let mut is_one = false;
        for asked in open.asked.iter_mut().filter(|asked| asked.desk == desk && asked.question.address == address) {
            if stations[asked.question.station].tags == heard.tags {
                asked.mac = Some(mac);
                is_one = true;
            }
        }
        if is_one {
            self.told.notify_all();
        } else {
            open.other_count += 1;
            if open.others.len() < OTHERS_MAX {
                open.others.push((desk, describe(heard)));
            }
        }
    }

    pub(super) fn resolve<T: Transmit>(&self, desks: &[Desk<T>], request: &Resolve) -> Result<Resolved, EngineError> {
        let asked = check(desks, request)?;
        *self.lock() = Open { asked, ..Open::default() };
        for _ in 0..request.tries {
            for (at, asked) in self.unanswered() {
                desks[asked.desk].ask(&desks[asked.desk].stations[asked.question.station], asked.question.address);
                self.lock().asked[at].tries += 1;
            }
            self.await_answers(Duration::from_secs_f64(request.timeout_s));
        }
        let open = std::mem::take(&mut *self.lock());
        let silent: Vec<&Asked> = open.asked.iter().filter(|asked| asked.mac.is_none()).collect();
        if silent.is_empty() {
            return Ok(Resolved { answers: open.asked.iter().filter_map(answer).collect() });
        }
        let named = silent.iter().take(NAMED_MAX).map(|asked| silence(desks, asked, &open, request));
        let more = silent.len().checked_sub(NAMED_MAX).filter(|more| *more > 0).map(|more| format!("and {more} more"));
        Err(EngineError::Neighbor(named.chain(more).collect::<Vec<String>>().join("; ")))
    }

    fn unanswered(&self) -> Vec<(usize, Asked)> {
        self.lock().asked.iter().cloned().enumerate().filter(|(_, asked)| asked.mac.is_none()).collect()
    }

    fn await_answers(&self, patience: Duration) {
        let (end, mut open) = (Instant::now() + patience, self.lock());
        while open.asked.iter().any(|asked| asked.mac.is_none()) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            open = self.told.wait_timeout(open, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn check<T: Transmit>(desks: &[Desk<T>], request: &Resolve) -> Result<Vec<Asked>, EngineError> {
    let wrong = |message: String| Err(EngineError::Request(message));
    if !(request.timeout_s > 0.0 && request.timeout_s <= 60.0) {
        return wrong(format!("timeout_s: {}; must be above 0 and at most 60", request.timeout_s));
    }
    if !(1..=100).contains(&request.tries) {
        return wrong(format!("tries: {}; must be from 1 to 100", request.tries));
    }
    if request.questions.len() > QUESTIONS_MAX {
        return wrong(format!("questions: {} asked, at most {QUESTIONS_MAX}", request.questions.len()));
    }
    let mut asked = Vec::new();
    for question in &request.questions {
        let Question { port, station, address } = question;
        let Some(desk) = desks.iter().position(|desk| desk.port == *port) else {
            return wrong(format!("questions: port {port} has no stations; give it one when it is opened"));
        };
        let Some(found) = desks[desk].stations.get(*station) else {
            let count = desks[desk].stations.len();
            return wrong(format!("questions: station {station} of port {port}; it has {count}, counted from 0"));
        };
        if found.source(*address).is_none() {
            let name = &desks[desk].name;
            return wrong(format!("{name}: {address} asked for, station {found} has no address of its IP version"));
        }
        asked.push(Asked { desk, question: question.clone(), mac: None, tries: 0 });
    }
    Ok(asked)
}

fn answer(asked: &Asked) -> Option<Answer> {
    let Question { port, station, address } = asked.question;
    Some(Answer { port, station, address, mac: asked.mac?.to_string(), tries: asked.tries })
}

/// Who was asked for, by whom, how often, and what was heard instead.
fn silence<T: Transmit>(desks: &[Desk<T>], asked: &Asked, open: &Open, request: &Resolve) -> String {
    let desk = &desks[asked.desk];
    let station = &desk.stations[asked.question.station];
    let address = asked.question.address;
    let how = if address.is_ipv4() { "ARP" } else { "neighbour solicitation" };
    let source = station.source(address).map(|source| source.to_string()).unwrap_or_default();
    let seconds = request.timeout_s * f64::from(request.tries);
    let mut heard: Vec<&str> =
        open.others.iter().filter(|(at, _)| *at == asked.desk).map(|(_, text)| text.as_str()).collect();
    heard.dedup();
    let instead = if heard.is_empty() { "nothing".to_owned() } else { heard.join(", ") };
    format!(
        "{}: the MAC address of {address} asked for by {how} from {source} ({station}), {} times in {seconds} s; nobody \
         answered, heard instead: {instead}; check that it is up on that link and in that VLAN, and has this address",
        desk.name, asked.tries,
    )
}

fn describe(heard: &Heard) -> String {
    let tags: String = heard.tags.iter().map(|tag| format!(" in VLAN {}", tag.id)).collect();
    match heard.message {
        Message::Answer { address, mac } => format!("{address} is at {mac}{tags}"),
        Message::Question { target, asker, asker_mac } => format!("{asker} ({asker_mac}) asks for {target}{tags}"),
    }
}

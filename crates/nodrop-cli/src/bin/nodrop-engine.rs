//! The packet engine as a process: requests in, replies out, one JSON line each.

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};

use clap::Parser;
use nodrop_cli::HostNeighbors;
use nodrop_cli::layouts::layouts;
use nodrop_cli::replay;
use nodrop_cli::setup::{self, HostEngine};
use nodrop_cli::{COMMIT, VERSION, come_up};
use nodrop_engine::{EngineError, Neighbors};
use nodrop_model::{
    Closed, ErrorKind, ErrorReply, Hello, PROTOCOL_VERSION, Reply, Request, Resolve, Resolved, TrialReply, TrialRequest,
};
use nodrop_port::thread;

/// nodrop's packet engine: sends, receives and counts test traffic.
///
/// Reads requests from standard input and writes replies to standard output, one JSON object a line; ends when standard
/// input closes or its parent dies.
#[derive(Parser)]
#[command(name = "nodrop-engine", version = VERSION)]
struct Arguments {
    /// Work in the network namespace of this process.
    #[arg(long, value_name = "PID")]
    netns: Option<u32>,
    /// Print the JSON Schema of requests and replies, and exit.
    #[arg(long)]
    schema: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.schema {
        return print_schema();
    }
    thread::favour(); // and all that this thread starts
    if let Err(error) = come_up(arguments.netns) {
        reply(&failure(ErrorKind::Port, error.to_string()));
        return ExitCode::FAILURE;
    }
    reply(&Reply::Hello(Hello {
        protocol: PROTOCOL_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: COMMIT.to_owned(),
        dpdk: nodrop_port::dpdk::BUILT,
    }));
    let stop = Arc::new(AtomicBool::new(false));
    let mut session = Session { engine: None, neighbors: None, stop: stop.clone() };
    for line in read_lines(stop) {
        session.answer(&line);
    }
    ExitCode::SUCCESS
}

/// Read on a thread of its own, so that `stop` and the end of input reach a running trial.
fn read_lines(stop: Arc<AtomicBool>) -> mpsc::Receiver<String> {
    let (lines, queue) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if matches!(serde_json::from_str(&line), Ok(Request::Stop)) {
                stop.store(true, SeqCst);
            } else if lines.send(line).is_err() {
                break;
            }
        }
        // Nobody is left to hear the counts: stop sending now, whatever is running.
        std::process::exit(0);
    });
    queue
}

/// What the engine holds between requests.
struct Session {
    engine: Option<HostEngine>,
    neighbors: Option<HostNeighbors>,
    stop: Arc<AtomicBool>,
}

impl Session {
    fn answer(&mut self, line: &str) {
        let answer = match serde_json::from_str(line) {
            Ok(request) => self.carry_out(request).unwrap_or_else(|error| refusal(&error)),
            Err(error) => failure(ErrorKind::Protocol, format!("not a request: {error}; see nodrop-engine --schema")),
        };
        reply(&answer);
    }

    fn carry_out(&mut self, request: Request) -> Result<Reply, EngineError> {
        match request {
            Request::Open(request) => {
                self.close();
                let (engine, neighbors, opened) = setup::open(&request)?;
                self.engine = Some(engine);
                self.neighbors = neighbors;
                Ok(Reply::Opened(opened))
            }
            Request::Resolve(request) => self.resolve(&request).map(Reply::Resolved),
            Request::Check(request) => self.engine()?.check(request.timeout_s).map(Reply::Checked),
            Request::Trial(request) => self.trial(&request),
            Request::Compile(asked) => replay::compile(&asked).map(Reply::Compiled),
            Request::Inspect(asked) => replay::inspect(&asked).map(Reply::Inspected),
            Request::Frames(asked) => layouts(&asked).map(Reply::Frames),
            Request::Close | Request::Stop => {
                self.close();
                Ok(Reply::Closed(Closed {}))
            }
        }
    }

    fn close(&mut self) {
        self.neighbors = None;
        self.engine = None;
    }

    fn resolve(&mut self, request: &Resolve) -> Result<Resolved, EngineError> {
        let refusal = || EngineError::Request("no port has stations; give it some in `open`".to_owned());
        self.engine()?;
        self.neighbors.as_ref().ok_or_else(refusal)?.resolve(request)
    }

    fn trial(&mut self, request: &TrialRequest) -> Result<Reply, EngineError> {
        let stop = self.stop.clone();
        let neighbors = |this: &Self| this.neighbors.as_ref().map(Neighbors::take_counts).unwrap_or_default();
        neighbors(self);
        let counts = self.engine()?.trial(request, &stop, |window| reply(&Reply::Window(window)));
        // Cleared after and not before: the wish to stop may be read while the trial still waits its turn.
        self.stop.store(false, SeqCst);
        Ok(Reply::Trial(Box::new(TrialReply { neighbors: neighbors(self), ..counts? })))
    }

    fn engine(&mut self) -> Result<&mut HostEngine, EngineError> {
        self.engine.as_mut().ok_or_else(|| EngineError::Request("no ports are open; send `open` first".to_owned()))
    }
}

fn refusal(error: &EngineError) -> Reply {
    let kind = match error {
        EngineError::Request(_) => ErrorKind::Request,
        EngineError::Neighbor(_) => ErrorKind::Neighbor,
        EngineError::Port(_) | EngineError::Panic => ErrorKind::Port,
    };
    failure(kind, error.to_string())
}

fn failure(kind: ErrorKind, message: String) -> Reply {
    Reply::Error(ErrorReply { kind, message })
}

fn reply(reply: &Reply) {
    let mut out = std::io::stdout().lock();
    let written = serde_json::to_writer(&mut out, reply).map_err(std::io::Error::from).and_then(|()| {
        out.write_all(b"\n")?;
        out.flush()
    });
    if written.is_err() {
        // The reader is gone, and with it whoever wanted this traffic.
        std::process::exit(1);
    }
}

fn print_schema() -> ExitCode {
    let schema = serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("nodrop-engine, protocol {PROTOCOL_VERSION}: one request a line in, one reply a line out"),
        "request": schemars::schema_for!(Request),
        "reply": schemars::schema_for!(Reply),
    });
    match serde_json::to_string_pretty(&schema) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("nodrop-engine: {error}");
            ExitCode::FAILURE
        }
    }
}

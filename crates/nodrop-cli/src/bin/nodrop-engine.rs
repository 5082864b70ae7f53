//! The packet engine as a process: requests in, replies out, one JSON object per line.

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};

use clap::Parser;
use nodrop_cli::HostNeighbors;
use nodrop_cli::layouts::build_layouts;
use nodrop_cli::replay;
use nodrop_cli::setup::{self, HostEngine};
use nodrop_cli::{COMMIT, VERSION, init_process};
use nodrop_engine::{EngineError, Neighbors};
use nodrop_model::{
    CloseReply, ErrorKind, ErrorReply, Hello, PROTOCOL_VERSION, ProbeReply, Reply, Request, ResolveReply,
    ResolveRequest, TrialReply, TrialRequest,
};
use nodrop_port::thread;

/// nodrop's packet engine: sends, receives and counts test traffic.
///
/// Reads requests from standard input and writes replies to standard output, one JSON object per line; ends when
/// standard input closes or its parent exits.
#[derive(Parser)]
#[command(name = "nodrop-engine", version = VERSION)]
struct Arguments {
    /// Enter the network namespace of this process.
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
    thread::raise_priority(); // inherited by threads started from here
    if let Err(error) = init_process(arguments.netns) {
        reply(&error_reply(ErrorKind::Port, error.to_string()));
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
        session.handle_line(&line);
    }
    ExitCode::SUCCESS
}

/// Try what the kernel lets this process do.
fn probe() -> ProbeReply {
    ProbeReply { xdp_live_refusal: nodrop_port::xdp_live::probe_kernel().err().map(|error| error.to_string()) }
}

/// Read on a separate thread, so that `stop` and the end of input reach a running trial.
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
        // No reader is left: stop sending at once.
        std::process::exit(0);
    });
    queue
}

/// State of the engine between requests.
struct Session {
    engine: Option<HostEngine>,
    neighbors: Option<HostNeighbors>,
    stop: Arc<AtomicBool>,
}

impl Session {
    fn handle_line(&mut self, line: &str) {
        let response = match serde_json::from_str(line) {
            Ok(request) => self.execute(request).unwrap_or_else(|error| engine_error_reply(&error)),
            Err(error) => {
                error_reply(ErrorKind::Protocol, format!("invalid request: {error}; see nodrop-engine --schema"))
            }
        };
        reply(&response);
    }

    fn execute(&mut self, request: Request) -> Result<Reply, EngineError> {
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
            Request::Compile(request) => replay::compile(&request).map(Reply::Compiled),
            Request::Probe => Ok(Reply::Probed(probe())),
            Request::Inspect(request) => replay::inspect(&request).map(Reply::Inspected),
            Request::Frames(request) => build_layouts(&request).map(Reply::Frames),
            Request::Close | Request::Stop => {
                self.close();
                Ok(Reply::Closed(CloseReply {}))
            }
        }
    }

    fn close(&mut self) {
        self.neighbors = None;
        self.engine = None;
    }

    fn resolve(&mut self, request: &ResolveRequest) -> Result<ResolveReply, EngineError> {
        let error = || EngineError::Request("no port has stations; add stations to a port in `open`".to_owned());
        self.engine()?;
        self.neighbors.as_ref().ok_or_else(error)?.resolve(request)
    }

    fn trial(&mut self, request: &TrialRequest) -> Result<Reply, EngineError> {
        let stop = self.stop.clone();
        let neighbors = |this: &Self| this.neighbors.as_ref().map(Neighbors::take_counts).unwrap_or_default();
        neighbors(self);
        let counts = self.engine()?.trial(request, &stop, |window| reply(&Reply::Window(window)));
        // Cleared afterwards rather than before, because a stop may be read while the trial is still queued.
        self.stop.store(false, SeqCst);
        Ok(Reply::Trial(Box::new(TrialReply { neighbors: neighbors(self), ..counts? })))
    }

    fn engine(&mut self) -> Result<&mut HostEngine, EngineError> {
        self.engine.as_mut().ok_or_else(|| EngineError::Request("no ports are open; send `open` first".to_owned()))
    }
}

fn engine_error_reply(error: &EngineError) -> Reply {
    let kind = match error {
        EngineError::Request(_) => ErrorKind::Request,
        EngineError::Neighbor(_) => ErrorKind::Neighbor,
        EngineError::Port(_) | EngineError::Panic => ErrorKind::Port,
    };
    error_reply(kind, error.to_string())
}

fn error_reply(kind: ErrorKind, message: String) -> Reply {
    Reply::Error(ErrorReply { kind, message })
}

fn reply(reply: &Reply) {
    let mut out = std::io::stdout().lock();
    let result = serde_json::to_writer(&mut out, reply).map_err(std::io::Error::from).and_then(|()| {
        out.write_all(b"\n")?;
        out.flush()
    });
    if result.is_err() {
        // The reader has exited, so the traffic is not needed any more.
        std::process::exit(1);
    }
}

fn print_schema() -> ExitCode {
    let schema = serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("nodrop-engine, protocol {PROTOCOL_VERSION}: one request per line in, one reply per line out"),
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

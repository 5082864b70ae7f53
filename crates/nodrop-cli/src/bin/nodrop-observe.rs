//! The host's counters as a process: reads them on request.

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use nodrop_cli::VERSION;
use nodrop_port::cpuid::Leaf;
use nodrop_port::observe::{DropCounting, Observer};
use nodrop_port::{PortError, cpuid, process};

/// Reads the host's counters along a path under test.
///
/// Prints one JSON line, `{"event":"ready","drops_refusal":null}` or `{"event":"error","message":...}`, and for every
/// line on standard input `{"event":"counters","counters":{...},"took_ns":...}`; ends when standard input closes or its
/// parent exits.
#[derive(Parser)]
#[command(name = "nodrop-observe", version = VERSION)]
struct Arguments {
    /// Network namespace to read: its name in the counters, and a process in it.
    #[arg(long, value_name = "NAME=PID", value_parser = parse_named)]
    netns: Vec<(String, u32)>,
    /// Process that publishes counters: its name in the counters, and its pid.
    #[arg(long, value_name = "NAME=PID", value_parser = parse_named)]
    process: Vec<(String, u32)>,
    /// Also count the kernel's reasons for dropped frames.
    #[arg(long)]
    drops: bool,
    /// With `--drops`, also count frames for other stations' MAC addresses; adds a cost to every received frame.
    #[arg(long)]
    other_host: bool,
    /// Print the CPUID leaves of the processor, one per line as `cpuid -r` does, and exit.
    #[arg(long, exclusive = true)]
    cpuid: bool,
}

fn parse_named(text: &str) -> Result<(String, u32), String> {
    let error = || format!("{text:?}: expected NAME=PID such as sut=1234");
    let (name, pid) = text.split_once('=').ok_or_else(error)?;
    Ok((name.to_owned(), pid.parse().map_err(|_| error())?))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.cpuid {
        return print_cpuid();
    }
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{}", serde_json::json!({"event": "error", "message": error.to_string()}));
            ExitCode::FAILURE
        }
    }
}

fn print_cpuid() -> ExitCode {
    let lines: String = cpuid::leaves()
        .iter()
        .map(|leaf| {
            let Leaf { leaf, subleaf, eax, ebx, ecx, edx } = *leaf;
            format!("   {leaf:#010x} {subleaf:#04x}: eax={eax:#010x} ebx={ebx:#010x} ecx={ecx:#010x} edx={edx:#010x}\n")
        })
        .collect();
    if std::io::stdout().write_all(lines.as_bytes()).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(arguments: Arguments) -> Result<(), PortError> {
    let parent = process::parent_id();
    let counting = match (arguments.drops, arguments.other_host) {
        (false, _) => DropCounting::Off,
        (true, false) => DropCounting::On,
        (true, true) => DropCounting::WithOtherHost,
    };
    let observer = Observer::open(&arguments.netns, arguments.process, counting)?;
    process::die_with_parent(parent);
    let mut out = std::io::stdout().lock();
    let mut print_event = |line: serde_json::Value| writeln!(out, "{line}").and_then(|()| out.flush()).is_ok();
    let error = observer.drop_counting_error().map(ToString::to_string);
    if !print_event(serde_json::json!({"event": "ready", "drops_refusal": error})) {
        return Ok(());
    }
    for line in std::io::stdin().lock().lines() {
        let start = Instant::now();
        let counters = observer.read();
        let took_ns = start.elapsed().as_nanos() as u64;
        if line.is_err()
            || !print_event(serde_json::json!({"event": "counters", "counters": counters, "took_ns": took_ns}))
        {
            break;
        }
    }
    Ok(())
}

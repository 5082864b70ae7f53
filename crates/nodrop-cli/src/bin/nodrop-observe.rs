//! The host's counters as a process: reads them whenever it is asked to.

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use nodrop_cli::VERSION;
use nodrop_port::observe::{Drops, Observer};
use nodrop_port::{PortError, cpuid, process};

/// Reads what the host counts along a path under test.
///
/// Prints one JSON line, `{"event":"ready","drops_refusal":null}` or `{"event":"error","message":...}`, and for every line on standard input
/// `{"event":"counters","counters":{...},"took_ns":...}`; ends when standard input closes or its parent dies.
#[derive(Parser)]
#[command(name = "nodrop-observe", version = VERSION)]
struct Arguments {
    /// A network namespace to read: its name in the counters, and a process in it.
    #[arg(long, value_name = "NAME=PID", value_parser = parse_named)]
    netns: Vec<(String, u32)>,
    /// A process that shows counters of its own, and its name in the counters.
    #[arg(long, value_name = "NAME=PID", value_parser = parse_named)]
    process: Vec<(String, u32)>,
    /// Count as well why the kernel dropped frames.
    #[arg(long)]
    drops: bool,
    /// With `--drops`, count as well what the kernel drops because it is for another station's MAC address: costs every receiver a little.
    #[arg(long)]
    other_host: bool,
    /// Print what the processor says of itself, a line for each leaf of CPUID as `cpuid -r` does, and end.
    #[arg(long, exclusive = true)]
    cpuid: bool,
}

fn parse_named(text: &str) -> Result<(String, u32), String> {
    let wrong = || format!("{text:?}: expected NAME=PID such as sut=1234");
    let (name, pid) = text.split_once('=').ok_or_else(wrong)?;
    Ok((name.to_owned(), pid.parse().map_err(|_| wrong())?))
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
        .map(|each| {
            let (leaf, subleaf) = (each.leaf, each.subleaf);
            let (eax, ebx, ecx, edx) = (each.eax, each.ebx, each.ecx, each.edx);
            format!("   {leaf:#010x} {subleaf:#04x}: eax={eax:#010x} ebx={ebx:#010x} ecx={ecx:#010x} edx={edx:#010x}\n")
        })
        .collect();
    if std::io::stdout().write_all(lines.as_bytes()).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(arguments: Arguments) -> Result<(), PortError> {
    let parent = process::parent_id();
    let wanted = match (arguments.drops, arguments.other_host) {
        (false, _) => Drops::Ignored,
        (true, false) => Drops::Counted,
        (true, true) => Drops::CountedWithOtherHost,
    };
    let observer = Observer::open(&arguments.netns, arguments.process, wanted)?;
    process::die_with_parent(parent);
    let mut out = std::io::stdout().lock();
    let mut say = |line: serde_json::Value| writeln!(out, "{line}").and_then(|()| out.flush()).is_ok();
    let refusal = observer.drops_refusal().map(ToString::to_string);
    if !say(serde_json::json!({"event": "ready", "drops_refusal": refusal})) {
        return Ok(());
    }
    for line in std::io::stdin().lock().lines() {
        let asked = Instant::now();
        let counters = observer.read();
        let took_ns = asked.elapsed().as_nanos() as u64;
        if line.is_err() || !say(serde_json::json!({"event": "counters", "counters": counters, "took_ns": took_ns})) {
            break;
        }
    }
    Ok(())
}

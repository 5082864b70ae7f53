//! Passes the commit of the source tree to the programs.

use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn main() {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    let changed = git(&["status", "--porcelain", "--", "../.."]).is_some_and(|changes| !changes.is_empty());
    println!("cargo::rustc-env=NODROP_COMMIT={commit}{}", if changed { "+" } else { "" });
    println!("cargo::rerun-if-changed=..");
    // HEAD's log changes with every commit.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
}

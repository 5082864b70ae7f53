//! With the feature `dpdk`: compiles the shim and links DPDK, where pkg-config says it is.

fn main() {
    println!("cargo:rerun-if-changed=src/dpdk/shim.c");
    #[cfg(feature = "dpdk")]
    dpdk::build();
}

#[cfg(feature = "dpdk")]
mod dpdk {
    use std::process::Command;

    pub(super) fn build() {
        let mut shim = cc::Build::new();
        shim.file("src/dpdk/shim.c").opt_level(3).std("gnu11");
        for flag in ask("--cflags") {
            shim.flag(flag);
        }
        shim.compile("nodrop_dpdk_shim");
        for flag in ask("--libs") {
            if let Some(library) = flag.strip_prefix("-l") {
                println!("cargo:rustc-link-lib={library}");
            } else if let Some(directory) = flag.strip_prefix("-L") {
                println!("cargo:rustc-link-search={directory}");
            }
        }
    }

    /// What pkg-config says of libdpdk. Without it there is nothing to build, and cargo shows why.
    fn ask(what: &str) -> Vec<String> {
        const REMEDY: &str =
            "feature dpdk needs pkg-config and libdpdk 22.11 or later: apt-get install pkg-config libdpdk-dev";
        let asked = Command::new("pkg-config").args([what, "libdpdk >= 22.11"]).output();
        let output = asked.ok().filter(|output| output.status.success());
        let Some(output) = output else {
            eprintln!("{REMEDY}");
            std::process::exit(1);
        };
        String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect()
    }
}

//! With the feature `dpdk`: compiles the shim and links the DPDK that pkg-config finds.

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
        for flag in pkg_config("--cflags") {
            shim.flag(flag);
        }
        shim.compile("nodrop_dpdk_shim");
        for flag in pkg_config("--libs") {
            if let Some(library) = flag.strip_prefix("-l") {
                println!("cargo:rustc-link-lib={library}");
            } else if let Some(directory) = flag.strip_prefix("-L") {
                println!("cargo:rustc-link-search={directory}");
            }
        }
    }

    /// Return the output of pkg-config for libdpdk. On failure, print the fix and abort the build.
    fn pkg_config(option: &str) -> Vec<String> {
        const REMEDY: &str =
            "feature dpdk needs pkg-config and libdpdk 22.11 or later: apt-get install pkg-config libdpdk-dev";
        let output = Command::new("pkg-config").args([option, "libdpdk >= 22.11"]).output();
        let output = output.ok().filter(|output| output.status.success());
        let Some(output) = output else {
            eprintln!("{REMEDY}");
            std::process::exit(1);
        };
        String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect()
    }
}

//! The name by which programs ask for the shared library: the one that cargo-c would give it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let of = |part: &str| std::env::var(format!("CARGO_PKG_VERSION_{part}")).unwrap_or_default();
    let (major, minor) = (of("MAJOR"), of("MINOR"));
    let version = if major == "0" { format!("0.{minor}") } else { major };
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libbitmma.so.{version}");
    }
}

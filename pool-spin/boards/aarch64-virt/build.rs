//! Tells the linker where the image goes.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("Cargo tells the crate's directory");
    println!("cargo::rustc-link-search={here}");
    // The sections, from aarch64-rt; and the memory they go to, from here.
    println!("cargo::rustc-link-arg-bins=-Timage.ld");
    println!("cargo::rustc-link-arg-bins=-Tmemory.ld");
    println!("cargo::rerun-if-changed=memory.ld");
}

//! Nothing is built: cargo wants a build script of every package that has the `links` key.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}

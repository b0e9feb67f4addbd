//! Compiles the peer that is written in C.

fn main() {
    #[cfg(feature = "lace")]
    {
        println!("cargo:rerun-if-changed=lace");
        cc::Build::new()
            .files(["lace/lace.c", "lace/programs.c"])
            .opt_level(3)
            // Code is aligned as that of the other systems.
            .flag_if_supported("-falign-functions=64")
            .flag_if_supported("-falign-loops=64")
            .compile("lace");
    }
}

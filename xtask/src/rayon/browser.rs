//! rayon on our pool, and the pool itself, in a browser, also from its main thread, which must not
//! wait.

use std::fs;

use anyhow::{Result, ensure};

use super::RAYON;
use crate::{command::Step, debian, published, root, rustup, speaker::say, target, tools::Tool};

/// Has threads only with a standard library that is built for them.
const TARGET: &str = "wasm32-unknown-unknown";

/// Makes what a page loads. Needs the version that the program is built with.
const WASM_BINDGEN: Tool = Tool {
    package: "wasm-bindgen-cli",
    program: "wasm-bindgen",
    version: "0.2.126",
    features: "",
};

/// What the linker must do, so that threads share their memory.
const FLAGS: [&str; 10] = [
    "-Ctarget-feature=+atomics",
    "-Clink-arg=--shared-memory",
    "-Clink-arg=--max-memory=1073741824",
    "-Clink-arg=--import-memory",
    "-Clink-arg=--export=__heap_base",
    "-Clink-arg=--export=__wasm_init_tls",
    "-Clink-arg=--export=__tls_base",
    "-Clink-arg=--export=__tls_size",
    "-Clink-arg=--export=__tls_align",
    "-Dwarnings",
];

/// Which thread of the page calls the program.
const THREADS: [&str; 2] = ["main", "worker"];

/// How many workers the global pool has.
const WORKERS: [&str; 3] = ["1", "2", "4"];

/// Builds a page, and shows it in a browser. Returns the number of its checks.
pub(crate) fn lane(_quick: bool) -> Result<u64> {
    rustup::need_nightly(&["rust-src"])?;
    debian::need("node", "nodejs")?;
    debian::need("chromium-headless-shell", "chromium-headless-shell")?;
    let sources = root().join("compat/tests/browser");
    let directory = target::directory("browser");
    let version = WASM_BINDGEN.version;
    let pool = root().join("pool-std");
    let lines = format!(
        "[lib]\n\
         crate-type = [\"cdylib\"]\n\
         [dependencies]\n\
         rayon = {{ version = \"1\", features = [\"web_spin_lock\"] }}\n\
         pool-std = {{ path = '{}' }}\n\
         wasm-bindgen = \"={version}\"\n\
         wasm-bindgen-rayon = {{ version = \"1.3\", features = [\"no-bundler\"] }}\n",
        pool.display()
    );
    published::write_package(&directory, &lines)?;
    fs::copy(sources.join("program.rs"), directory.join("src/lib.rs"))?;
    RAYON.assert_ours(&directory.join("Cargo.toml"))?;
    Step::cargo(&["+nightly", "build", "--release", "--target", TARGET])
        .args(["-Zbuild-std=std,panic_abort"])
        .args(RAYON.patch())
        .directory(&directory)
        .env("RUSTFLAGS", FLAGS.join(" "))
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .run()?;
    let program = directory.join(format!("target/{TARGET}/release/scratch.wasm"));
    let page = directory.join("page");
    WASM_BINDGEN
        .step(&["--target", "web", "--out-dir"])?
        .args([page.join("program"), program])
        .run()?;
    for file in ["index.html", "page.mjs"] {
        fs::copy(sources.join(file), page.join(file))?;
    }
    let mut checks = 0;
    for thread in THREADS {
        for workers in WORKERS {
            let passed = Step::new("node", &[])
                .args([sources.join("serve.mjs"), page.clone()])
                .args([thread, workers])
                .read()?;
            say!("{workers} workers, from the thread `{thread}`:\n{passed}");
            checks += passed.lines().count() as u64;
            let has_ended = passed.lines().next_back() == Some("isolated calls");
            ensure!(has_ended, "the program has not come to its end");
        }
    }
    Ok(checks)
}

//! In a browser, also from its main thread, which must not wait.

use std::fs;

use anyhow::{Result, ensure};

use super::WORKERS;
use crate::{command::Step, debian, root, rustup, speaker::say, target, tools::Tool};

/// Has threads only with a standard library that is built for them.
const TARGET: &str = "wasm32-unknown-unknown";

/// Makes what a page loads. The program must be built with the same version.
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

/// Builds a page, and shows it in a browser. Returns the number of its checks.
pub(crate) fn lane(_quick: bool) -> Result<u64> {
    rustup::need_nightly(&["rust-src"])?;
    debian::need("node", "nodejs")?;
    debian::need("chromium-headless-shell", "chromium-headless-shell")?;
    let directory = target::directory("browser");
    let rayon = "{ version = \"1\", features = [\"web_spin_lock\"] }";
    let rest = format!(
        "wasm-bindgen = \"={}\"\n\
         wasm-bindgen-rayon = {{ version = \"1.3\", features = [\"no-bundler\"] }}\n\
         [lib]\n\
         crate-type = [\"cdylib\"]\n",
        WASM_BINDGEN.version
    );
    super::write_package(&directory, "browser/program.rs", "lib.rs", rayon, &rest)?;
    let cargo = ["+nightly", "build", "-Zbuild-std=std,panic_abort"];
    super::build(&directory, &cargo, TARGET, &FLAGS.join(" "))?;
    let program = directory.join(format!("target/{TARGET}/release/scratch.wasm"));
    let page = directory.join("page");
    WASM_BINDGEN
        .step(&["--target", "web", "--out-dir"])?
        .args([page.join("program"), program])
        .run()?;
    let sources = root().join("compat/tests/wasm/browser");
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

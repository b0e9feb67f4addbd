//! A program in a browser: rayon on the pool, and the pool itself, from the main thread, which must
//! not wait, and from another one. Each check tells the page its name when it has passed.

mod checks;

use std::panic;

use wasm_bindgen::prelude::*;
pub use wasm_bindgen_rayon::init_thread_pool;

#[wasm_bindgen]
extern "C" {
    /// Of the page, or of its thread.
    #[wasm_bindgen(js_name = tell)]
    fn tell(text: &str);
}

#[wasm_bindgen(start)]
fn start() {
    panic::set_hook(Box::new(|panic| tell(&format!("error: {panic}"))));
}

#[wasm_bindgen]
pub fn run_checks() {
    for (name, check) in checks::CHECKS {
        check();
        tell(name);
    }
}

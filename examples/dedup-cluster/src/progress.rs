//! The progress of all processes together.

use dedup_cluster::Event;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar on a terminal. Elsewhere nothing is shown.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// The bytes that each process has hashed.
    done: Vec<u64>,
}

impl Bar {
    pub(crate) fn new(processes: usize) -> Self {
        let style =
            ProgressStyle::with_template("{msg:22} {wide_bar} {bytes:>11} of {total_bytes}");
        let style = style.expect("the template is valid");
        let message = format!("{processes} processes");
        Self {
            bar: ProgressBar::new(0).with_message(message).with_style(style),
            done: vec![0; processes],
        }
    }

    pub(crate) fn show(&mut self, process: usize, event: &Event) {
        match event {
            Event::Total { bytes, .. } => self.bar.inc_length(*bytes),
            Event::Done { bytes, .. } => {
                self.done[process] = *bytes;
                self.bar.set_position(self.done.iter().sum());
            }
            Event::Listening(_) | Event::Report(_) => {}
        }
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

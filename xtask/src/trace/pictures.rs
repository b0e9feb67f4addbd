//! The pictures of the book.

use anyhow::Result;

use super::{file::TraceFile, program_in, timeline::Timeline};
use crate::{command::Step, root, target};

/// A picture, and the program that it shows.
struct Picture {
    /// What the example is called with.
    program: &'static str,
    /// The name of the trace and of the picture.
    name: &'static str,
    title: &'static str,
    caption: &'static str,
}

const PICTURES: [Picture; 4] = [
    Picture {
        program: "tree",
        name: "timeline-tree",
        title: "A tree of joins on four workers",
        caption: "A few steals near the root share the work; a worker that waits for a stolen half \
                  runs other halves inside its own job.",
    },
    Picture {
        program: "sparse",
        name: "timeline-sparse-power",
        title: "A short job, a short pause, and so on: the idle policy POWER",
        caption: "A worker sleeps after each job, and each job wakes one. Look for gray between the \
                  jobs, and for an arrow before each of them.",
    },
    Picture {
        program: "sparse",
        name: "timeline-sparse-latency",
        title: "A short job, a short pause, and so on: the idle policy LATENCY",
        caption: "After some jobs a worker has learned that it pays to search: it keeps a processor \
                  busy until the next job comes. Look for orange, and for jobs without an arrow.",
    },
    Picture {
        program: "deadlock",
        name: "timeline-deadlock",
        title: "Two workers that wait for messages, and a deadlock that is reported",
        caption: "The report comes when the second row turns red. The handler then sends both \
                  messages.",
    },
];

/// Runs the programs, and draws all pictures.
pub(super) fn draw_all() -> Result<()> {
    let directory = target::directory("trace").join("build");
    Step::cargo(&["build", "--quiet", "--release", "--package", "pool-std"])
        .args(["--features", "trace", "--example", "timelines"])
        .env("CARGO_TARGET_DIR", &directory)
        .run()?;
    let program = program_in(&directory, "examples/timelines");
    let images = root().join("docs/src/images");
    for program_name in ["tree", "sparse", "deadlock"] {
        let file = directory.join(format!("timeline-{program_name}.json"));
        Step::new(&program.to_string_lossy(), &[program_name])
            .args([&file])
            .run()?;
    }
    for picture in PICTURES {
        let trace = TraceFile::read(&directory.join(format!("{}.json", picture.name)))?;
        let image = images.join(format!("{}.svg", picture.name));
        let timeline = Timeline {
            title: picture.title.into(),
            caption: picture.caption,
            trace: &trace,
        };
        timeline.draw(&image)?;
        println!(
            "{} ({}): {}",
            image.display(),
            picture.program,
            trace.summary()
        );
    }
    Ok(())
}

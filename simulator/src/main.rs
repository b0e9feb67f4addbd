//! `cargo xtask simulate`.

use std::{
    error::Error,
    fmt::Write as _,
    fs,
    io::{self, ErrorKind, Write},
    path::PathBuf,
    process::ExitCode,
    sync::Mutex,
    thread,
    time::Instant,
};

use clap::{Parser, builder::PossibleValuesParser};
use pool_core::IdlePolicy;
use simulator::{
    bars::bars,
    cost::{CostModel, NS, changes_of_one_line, ideal_wake_tree},
    machine::{Part, Settings},
    plot,
    protocol::{Kind, POLICIES, VirtualClassic, VirtualHints, VirtualJec, VirtualSockets},
    report::{COLUMNS, Row, hot_lines, table},
    simulation::{Report, SimulationError, microseconds, simulate},
    workload::Workload,
};

/// Runs the sleep protocols and the pool on virtual workers, and reports what that costs.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask simulate", bin_name = "cargo xtask simulate")]
struct Arguments {
    /// The numbers of workers, up to 4,096
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [2, 8, 64])]
    workers: Vec<usize>,

    /// The number of workers for which the goals are looked at; 0 for none
    #[arg(long, value_name = "N", default_value_t = 256)]
    large: usize,

    /// The sleep protocols
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_values = ["jec", "classic", "hints"])]
    protocol: Vec<Kind>,

    /// The idle policies
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = PossibleValuesParser::new(policy_names()), default_values_t = ["balanced", "immediate"].map(str::to_owned))]
    policy: Vec<String>,

    /// The workloads
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<Workload>,

    /// What things cost
    #[arg(long, value_name = "MODEL", value_parser = PossibleValuesParser::new(CostModel::ALL.iter().map(|costs| costs.name)), default_value = CostModel::SERVER.name)]
    costs: String,

    /// Decides ties and variations; the same seed gives the same run
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// How far one worker may be ahead of another, in nanoseconds; more is faster to simulate and
    /// less exact
    #[arg(long, value_name = "NS", default_value_t = 100)]
    quantum: u32,

    /// Let no core wait for these parts of the pool's memory, to see how much depends on their
    /// contention
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    free: Vec<Part>,

    /// Print so many of the lines with the most traffic for each workload
    #[arg(long, value_name = "N", default_value_t = 0)]
    hot: usize,

    /// Write the table to this file, as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Draw charts into this directory
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

/// The workloads of the large pool, whose goals they decide. Each costs seconds.
const OF_LARGE: [Workload; 3] = [Workload::Trickle, Workload::Tick, Workload::Split];

/// What is simulated in one go.
#[derive(Debug, Clone)]
struct Job {
    protocol: Kind,
    policy: (&'static str, IdlePolicy),
    workers: usize,
    workloads: Vec<Workload>,
}

fn policy_names() -> [&'static str; POLICIES.len()] {
    std::array::from_fn(|index| POLICIES[index].0)
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut models = CostModel::ALL.iter();
    let costs = *models
        .find(|costs| costs.name == arguments.costs)
        .ok_or("no such cost model")?;
    let settings = Settings {
        quantum: u64::from(arguments.quantum) * NS,
        free: arguments.free.iter().copied().collect(),
        ..Settings::new(costs, arguments.seed)
    };
    let begin = Instant::now();
    let mut rows = simulate_all(settings, jobs(arguments))?;
    rows.sort_by_key(|row| (row.protocol, row.policy, row.workers));
    let mut text = format!("{}\n{COLUMNS}\n\n", table(&rows));
    for row in rows.iter().filter(|_| arguments.hot > 0) {
        for outcome in &row.outcomes {
            writeln!(
                text,
                "{}, {}, {} workers, {}:",
                row.protocol, row.policy, row.workers, outcome.workload
            )?;
            writeln!(text, "{}", hot_lines(outcome, arguments.hot))?;
        }
    }
    write_bars(&mut text, &costs, &rows)?;
    print(io::stdout(), &text)?;
    if let Some(file) = &arguments.markdown {
        fs::write(file, table(&rows)).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    if let Some(directory) = &arguments.svg {
        for file in plot::draw(&rows, directory)? {
            print(io::stdout(), &format!("{file}\n"))?;
        }
    }
    eprintln!("simulated in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// Returns what is to be simulated, the longest first.
fn jobs(arguments: &Arguments) -> Vec<Job> {
    let all = if arguments.only.is_empty() {
        Workload::ALL
    } else {
        &arguments.only
    };
    let mut jobs = Vec::new();
    for policy in POLICIES
        .iter()
        .filter(|(name, _)| arguments.policy.iter().any(|other| other == name))
    {
        // The default protocol; another one if it alone is asked for.
        let of_large = arguments.protocol[0];
        // A pool of this size with all workloads is asked for already.
        let is_asked_for = arguments.workers.contains(&arguments.large);
        if arguments.large > 0 && !is_asked_for {
            let chosen = if arguments.only.is_empty() {
                &OF_LARGE[..]
            } else {
                all
            };
            let workloads = chosen.to_vec();
            jobs.push(Job {
                protocol: of_large,
                policy: *policy,
                workers: arguments.large,
                workloads,
            });
        }
        for &protocol in &arguments.protocol {
            for &workers in &arguments.workers {
                jobs.push(Job {
                    protocol,
                    policy: *policy,
                    workers,
                    workloads: all.to_vec(),
                });
            }
        }
    }
    jobs.sort_by_key(|job| std::cmp::Reverse(job.workers));
    jobs
}

/// Simulates on as many real threads as there are processors: one machine each.
fn simulate_all(settings: Settings, jobs: Vec<Job>) -> Result<Vec<Row>, SimulationError> {
    let queue = Mutex::new(jobs.into_iter());
    let rows = Mutex::new(Vec::new());
    let work = || -> Result<(), SimulationError> {
        loop {
            let Some(job) = queue.lock().expect("no panic").next() else {
                return Ok(());
            };
            let report = simulate_one(settings, &job)?;
            let row = Row {
                protocol: job.protocol.name(),
                policy: job.policy.0,
                workers: job.workers,
                outcomes: report.outcomes,
            };
            rows.lock().expect("no panic").push(row);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(rows.into_inner().expect("no panic"))
}

fn simulate_one(settings: Settings, job: &Job) -> Result<Report, SimulationError> {
    let simulate = match job.protocol {
        Kind::Jec => simulate::<VirtualJec>,
        Kind::Sockets => simulate::<VirtualSockets>,
        Kind::Classic => simulate::<VirtualClassic>,
        Kind::Hints => simulate::<VirtualHints>,
    };
    simulate(settings, job.workers, job.policy.1, &job.workloads)
}

/// Prints a text. That no process reads it to its end is no error: the files are written all the
/// same.
fn print(mut output: impl Write, text: &str) -> io::Result<()> {
    match output.write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes the goals for the largest pool of each protocol and policy.
fn write_bars(text: &mut String, costs: &CostModel, rows: &[Row]) -> std::fmt::Result {
    for group in
        rows.chunk_by(|one, next| (one.protocol, one.policy) == (next.protocol, next.policy))
    {
        let Some(large) = group.last() else { continue };
        let fewer = group
            .iter()
            .filter(|row| row.workers < large.workers && row.workers >= 64);
        let smaller = fewer.map(|row| (row.workers, &row.outcomes[..])).next();
        writeln!(text, "{}, {}:", large.protocol, large.policy)?;
        writeln!(
            text,
            "  {} workers: the ideal wake tree takes {:.1} us, and one change of one line by each of them {:.1} us",
            large.workers,
            microseconds(ideal_wake_tree(large.workers, costs)),
            microseconds(changes_of_one_line(large.workers, costs)),
        )?;
        for bar in bars(costs, (large.workers, &large.outcomes), smaller) {
            writeln!(text, "  {bar}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use simulator::simulation::MAX_WORKERS;

    use super::*;

    #[test]
    fn refuses_bad_arguments() {
        let parse = |arguments: &str| Arguments::try_parse_from(arguments.split(' '));
        assert!(parse("simulate --workers 2,64 --only trickle --protocol jec --seed 7").is_ok());
        for bad in [
            "--workers many",
            "--protocol jek",
            "--policy lazy",
            "--only brust",
            "--costs cheap",
            "--free lunch",
        ] {
            let error = parse(&format!("simulate {bad}")).unwrap_err().to_string();
            assert!(error.contains("invalid value"), "{error}");
        }
    }

    /// Reproduces a bug: the program panicked when its reader had ended.
    #[test]
    fn an_output_without_a_reader_is_no_error() {
        struct Fails(ErrorKind);

        impl Write for Fails {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        assert!(print(Fails(ErrorKind::BrokenPipe), "text").is_ok());
        assert!(print(Fails(ErrorKind::StorageFull), "text").is_err());
    }

    /// Reproduces a bug: a number of workers that is also that of the large pool was left out for
    /// all protocols but the first, and most workloads were left out for that one.
    #[test]
    fn simulates_all_that_is_asked_for() {
        let jobs_of = |arguments: &str| {
            let arguments = Arguments::try_parse_from(arguments.split(' ')).unwrap();
            let jobs = jobs(&arguments).into_iter();
            let described = jobs.map(|job| (job.protocol, job.workers, job.workloads.len()));
            described.collect::<Vec<_>>()
        };
        let (all, few) = (Workload::ALL.len(), OF_LARGE.len());
        assert_eq!(
            jobs_of("simulate --workers 8,256 --protocol classic,hints --policy balanced"),
            [
                (Kind::Classic, 256, all),
                (Kind::Hints, 256, all),
                (Kind::Classic, 8, all),
                (Kind::Hints, 8, all),
            ]
        );
        assert_eq!(
            jobs_of("simulate --workers 8 --protocol jec --policy balanced"),
            [(Kind::Jec, 256, few), (Kind::Jec, 8, all)]
        );
    }

    #[test]
    fn refuses_pools_of_no_worker_and_of_too_many() {
        let settings = Settings::new(CostModel::SERVER, 1);
        let job = |workers| Job {
            protocol: Kind::Jec,
            policy: POLICIES[0],
            workers,
            workloads: Vec::new(),
        };
        assert_eq!(
            simulate_one(settings, &job(0)),
            Err(SimulationError::NoWorker)
        );
        let error = simulate_one(settings, &job(MAX_WORKERS + 1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "4097 workers, but a simulation can have 4096 at most"
        );
    }
}

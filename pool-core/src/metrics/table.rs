//! The table that a pool's metrics print, in parts that fit into a terminal.

use core::{
    fmt::{self, Write},
    ops::Range,
    time::Duration,
};

use super::{
    counters::Counts,
    pool::{PoolMetrics, WorkerMetrics},
    stopwatch::{WorkerState, WorkerTimes},
};

/// The columns before those of the counts.
const LEADING: [&str; 3] = ["worker", "state", "queued"];
/// The columns after those of the counts.
const TIMES: [&str; 3] = ["active ms", "idle ms", "asleep ms"];
const COLUMNS: usize = LEADING.len() + Counts::HEADINGS.len() + TIMES.len();

/// How many spaces are between two columns.
const GAP: usize = 2;

/// How many characters a line has at most.
const MOST_WIDTH: usize = 100;

/// One field of the table.
enum Field {
    Word(&'static str),
    Number(u64),
    /// Printed as milliseconds with one digit after the decimal point.
    Time(Duration),
    State(WorkerState),
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Word(word) => f.write_str(word),
            Self::Number(number) => write!(f, "{number}"),
            Self::Time(time) => {
                let milliseconds = time.as_secs() * 1_000 + u64::from(time.subsec_millis());
                write!(f, "{milliseconds}.{}", time.subsec_micros() / 100 % 10)
            }
            Self::State(state) => write!(f, "{state}"),
        }
    }
}

type Row = [Field; COLUMNS];

/// Puts the parts of a row together.
fn row(leading: [Field; 3], counts: impl Fn(usize) -> Field, times: [Field; 3]) -> Row {
    let (mut leading, mut times) = (leading.into_iter(), times.into_iter());
    core::array::from_fn(|column| {
        let field = match column.checked_sub(LEADING.len()) {
            None => leading.next(),
            Some(count) if count < Counts::HEADINGS.len() => Some(counts(count)),
            Some(_) => times.next(),
        };
        field.expect("as many as there are columns")
    })
}

fn headings() -> Row {
    let counts = |count| Field::Word(Counts::HEADINGS[count]);
    row(LEADING.map(Field::Word), counts, TIMES.map(Field::Word))
}

fn times(times: Option<WorkerTimes>) -> [Field; 3] {
    match times {
        None => [(); 3].map(|()| Field::Word("-")),
        Some(WorkerTimes {
            active,
            idle,
            asleep,
        }) => [active, idle, asleep].map(Field::Time),
    }
}

fn numbers(counts: Counts) -> impl Fn(usize) -> Field {
    let numbers = counts.numbers();
    move |count| Field::Number(numbers[count])
}

impl<W: AsRef<[WorkerMetrics]>> PoolMetrics<W> {
    fn worker_row(&self, index: usize) -> Row {
        let worker = self.workers()[index];
        let leading = [
            Field::Number(index as u64),
            Field::State(worker.state),
            Field::Number(worker.queued as u64),
        ];
        row(leading, numbers(worker.counts), times(worker.times))
    }

    fn sum_row(&self) -> Row {
        let queued = self.workers().iter().map(|worker| worker.queued as u64);
        let leading = [
            Field::Word("sum"),
            Field::Word(""),
            Field::Number(queued.sum()),
        ];
        row(leading, numbers(self.sum()), times(self.sum_of_times()))
    }

    /// Writes some columns of each row, with the worker before them.
    fn write_columns(
        &self,
        f: &mut fmt::Formatter<'_>,
        widths: &[usize; COLUMNS],
        columns: Range<usize>,
    ) -> fmt::Result {
        self.for_each_row(|row| {
            let before = widths[0] - width_of(&row[0])?;
            write!(f, "{:before$}{}", "", row[0])?;
            for column in columns.clone() {
                let (field, width) = (&row[column], widths[column]);
                let padding = width - width_of(field)?;
                // Aligned to the right, but for the state.
                let (before, after) = if column == 1 {
                    (GAP, padding)
                } else {
                    (GAP + padding, 0)
                };
                write!(f, "{:before$}{field}{:after$}", "", "")?;
            }
            f.write_char('\n')
        })
    }

    /// Calls a closure with each row.
    fn for_each_row(&self, mut row: impl FnMut(Row) -> fmt::Result) -> fmt::Result {
        row(headings())?;
        for index in 0..self.workers().len() {
            row(self.worker_row(index))?;
        }
        row(self.sum_row())
    }
}

impl<W: AsRef<[WorkerMetrics]>> fmt::Display for PoolMetrics<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = [0; COLUMNS];
        self.for_each_row(|row| {
            for (width, field) in widths.iter_mut().zip(&row) {
                *width = (*width).max(width_of(field)?);
            }
            Ok(())
        })?;
        let mut begin = 1;
        while begin < COLUMNS {
            if begin > 1 {
                f.write_char('\n')?;
            }
            let end = end_of_part(&widths, begin);
            self.write_columns(f, &widths, begin..end)?;
            begin = end;
        }
        match (self.injector_len(), self.injector_is_empty()) {
            (Some(len), _) => write!(f, "jobs from outside: {len}"),
            (None, true) => f.write_str("jobs from outside: none"),
            (None, false) => f.write_str("jobs from outside: some"),
        }
    }
}

/// The table in the alternate form; otherwise one line.
impl<W: AsRef<[WorkerMetrics]>> fmt::Debug for PoolMetrics<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return fmt::Display::fmt(self, f);
        }
        f.debug_struct("PoolMetrics")
            .field("num_workers", &self.workers().len())
            .field("sum", &self.sum())
            .finish_non_exhaustive()
    }
}

/// Returns the column before which the part of the table ends that begins with `begin`.
fn end_of_part(widths: &[usize; COLUMNS], begin: usize) -> usize {
    let mut width = widths[0];
    let fits = |&column: &usize| {
        width += GAP + widths[column];
        width <= MOST_WIDTH
    };
    // At least one column, and each fits beside that of the workers.
    begin + (begin..COLUMNS).take_while(fits).count().max(1)
}

/// Returns how many characters a field takes, all of which have one byte.
fn width_of(field: &Field) -> Result<usize, fmt::Error> {
    struct Width(usize);

    impl Write for Width {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }

    let mut width = Width(0);
    write!(width, "{field}")?;
    Ok(width.0)
}

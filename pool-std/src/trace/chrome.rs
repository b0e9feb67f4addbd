//! The format of Chrome's traces, which Perfetto reads.
//!
//! Source: *Trace Event Format* (Google, 2016). An object with a list of events, each of which has
//! a kind (`ph`), a process (`pid`), a thread (`tid`) and a time in microseconds (`ts`):
//!
//! | here | there |
//! | --- | --- |
//! | a pool, a worker | a process, a thread of it; metadata (`M`) names them |
//! | a [`Span`] | a complete event (`X`) |
//! | what takes no time | an instant (`i`) |
//! | a steal, a wake-up | an arrow: its start (`s`) and its end (`f`), each in a span |
//! | how many workers are active, search and sleep | a counter (`C`) |

use std::{
    collections::HashMap,
    fmt,
    io::{self, Write},
    time::Duration,
};

use pool_core::Event;

use super::{
    json::Text,
    names,
    recorded::{PoolTrace, TimedEvent, Trace, WorkerTrace},
    spans::{Span, SpanKind, spans},
};

/// The row of threads outside the pool. Workers have the rows from 1 on.
const OUTSIDE: usize = 0;

pub(super) fn write(trace: &Trace, writer: impl Write) -> io::Result<()> {
    let mut output = Output {
        writer,
        is_first: true,
        arrows: 0,
    };
    let workers = trace.pools().iter().flat_map(PoolTrace::workers);
    let overwritten: usize = workers.map(WorkerTrace::overwritten).sum();
    write!(
        output.writer,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"overwritten\":{overwritten}}},\
         \"traceEvents\":["
    )?;
    let rows = Rows::of(trace);
    for pool in trace.pools() {
        write_pool(&mut output, pool, &rows)?;
    }
    output.writer.write_all(b"\n]}\n")
}

/// A row of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Row {
    pool: u32,
    thread: usize,
}

impl Row {
    fn of(pool: &PoolTrace, worker: usize) -> Self {
        Self {
            pool: pool.number(),
            thread: worker + 1,
        }
    }

    fn outside(pool: &PoolTrace) -> Self {
        Self {
            pool: pool.number(),
            thread: OUTSIDE,
        }
    }
}

/// The rows of all workers.
struct Rows {
    by_number: HashMap<u32, Row>,
    spans: HashMap<Row, Vec<Span>>,
    /// The spans that are not inside others.
    outermost: HashMap<Row, Vec<Span>>,
}

impl Rows {
    fn of(trace: &Trace) -> Self {
        let mut by_number = HashMap::new();
        let (mut all, mut outermost) = (HashMap::new(), HashMap::new());
        for pool in trace.pools() {
            let last = |worker: &WorkerTrace| worker.events().last().map(|it| it.time);
            let end = pool.workers().iter().filter_map(last).max();
            for worker in pool.workers() {
                let row = Row::of(pool, worker.index());
                by_number.insert(worker.number(), row);
                let spans = spans(worker, end.unwrap_or_default());
                let is_outermost = |span: &&Span| span.depth == 0;
                let of_row: Vec<_> = spans.iter().filter(is_outermost).copied().collect();
                outermost.insert(row, of_row);
                all.insert(row, spans);
            }
        }
        Self {
            by_number,
            spans: all,
            outermost,
        }
    }

    fn spans(&self, row: Row) -> &[Span] {
        self.spans.get(&row).map_or(&[], Vec::as_slice)
    }

    /// Returns the moment nearest to `time` at which a row has a span, where an arrow may begin or
    /// end: a worker may have no span for a moment, between two jobs.
    fn anchor(&self, row: Row, time: Duration) -> Option<Duration> {
        let spans = self.outermost.get(&row)?;
        let next = spans.partition_point(|span| span.begin <= time);
        let nearest = &spans[next.saturating_sub(1)..spans.len().min(next + 1)];
        let moments = nearest.iter().map(|span| time.clamp(span.begin, span.end));
        moments.min_by_key(|moment| moment.abs_diff(time))
    }

    /// Returns the first moment from `time` on at which a row has a span.
    fn anchor_from(&self, row: Row, time: Duration) -> Option<Duration> {
        let spans = self.outermost.get(&row)?;
        let next = spans.partition_point(|span| span.end < time);
        Some(spans.get(next)?.begin.max(time))
    }
}

fn write_pool<W: Write>(output: &mut Output<W>, pool: &PoolTrace, rows: &Rows) -> io::Result<()> {
    let outside = Row::outside(pool);
    output.name(outside, "process_name", &format!("pool {}", pool.number()))?;
    output.name(outside, "thread_name", "threads outside the pool")?;
    let mut states = Vec::new();
    for worker in pool.workers() {
        let row = Row::of(pool, worker.index());
        output.name(row, "thread_name", &format!("worker {}", worker.index()))?;
        for span in rows.spans(row) {
            output.span(row, span)?;
            note_state(&mut states, span);
        }
        for it in worker.events() {
            write_event(output, pool, row, *it, rows)?;
        }
    }
    write_outside(output, pool, rows)?;
    write_counters(output, outside, states)
}

/// Writes the spans in which wake-ups by threads outside the pool begin. Each is as long as its
/// arrow, so that it is visible, or ends when the next one begins.
fn write_outside<W: Write>(
    output: &mut Output<W>,
    pool: &PoolTrace,
    rows: &Rows,
) -> io::Result<()> {
    let events = pool.workers().iter().flat_map(WorkerTrace::events);
    let wakes = events.filter_map(|it| match it.event {
        Event::Wake(by) if by.at != 0 && !rows.by_number.contains_key(&by.waker) => {
            Some((Duration::from_nanos(by.at), it.time))
        }
        _ => None,
    });
    let mut wakes: Vec<_> = wakes.collect();
    wakes.sort();
    let next = wakes.iter().skip(1).map(|&(given, _)| given);
    let ends = next.chain([Duration::MAX]);
    for (&(begin, end), next) in wakes.iter().zip(ends) {
        let length = end.min(next).saturating_sub(begin);
        output.slice(
            Row::outside(pool),
            (begin, length),
            "wakes a worker",
            "state",
            "",
        )?;
    }
    Ok(())
}

fn write_event<W: Write>(
    output: &mut Output<W>,
    pool: &PoolTrace,
    row: Row,
    TimedEvent { time, event }: TimedEvent,
    rows: &Rows,
) -> io::Result<()> {
    match event {
        Event::Steal { victim } => {
            output.instant(row, time, "steal", Some(("victim", victim)))?;
            output.arrow("steal", (Row::of(pool, victim), time), (row, time), rows)
        }
        Event::Wake(by) if by.at != 0 => {
            let waker = rows.by_number.get(&by.waker).copied();
            let waker = waker.unwrap_or_else(|| Row::outside(pool));
            let given = Duration::from_nanos(by.at);
            output.arrow("wake-up", (waker, given), (row, time), rows)
        }
        Event::TurnedBack => output.instant(row, time, "turned back", None),
        Event::LatchSet { waiter } => {
            output.instant(row, time, "latch set", Some(("waiter", waiter)))
        }
        Event::FruitlessWake => output.instant(row, time, "fruitless wake-up", None),
        Event::Post { count } => output.instant(row, time, "post", Some(("jobs", count))),
        Event::Moved { count } => output.instant(row, time, "moved", Some(("jobs", count))),
        Event::DequeFull => output.instant(row, time, "deque full", None),
        Event::Revocation { victim } => {
            output.instant(row, time, "revocation", Some(("victim", victim)))
        }
        _ => Ok(()),
    }
}

/// How the numbers of workers in each state change.
type Change = (Duration, [i64; 3]);

/// Records when a worker enters and leaves a state. A worker that neither searches nor sleeps is
/// active.
fn note_state(changes: &mut Vec<Change>, span: &Span) {
    let change = match span.kind {
        SpanKind::Searching => [0, 1, 0],
        SpanKind::Asleep => [0, 0, 1],
        SpanKind::Job(_) | SpanKind::Guest | SpanKind::Label(_) | SpanKind::Blocked
            if span.depth == 0 =>
        {
            [1, 0, 0]
        }
        _ => return,
    };
    // Inside a job, a worker that searches or sleeps is not active.
    let change = match (span.depth, change) {
        (0, change) => change,
        (_, [_, searching, asleep]) => [-1, searching, asleep],
    };
    changes.push((span.begin, change));
    changes.push((span.end, change.map(|number| -number)));
}

fn write_counters<W: Write>(
    output: &mut Output<W>,
    row: Row,
    mut changes: Vec<Change>,
) -> io::Result<()> {
    changes.sort_by_key(|&(time, _)| time);
    let mut numbers = [0; 3];
    for at_once in changes.chunk_by(|a, b| a.0 == b.0) {
        for (_, change) in at_once {
            numbers = std::array::from_fn(|state| numbers[state] + change[state]);
        }
        let [active, searching, asleep] = numbers;
        let fields = format!(
            "\"ts\":{},\"args\":{{\"active\":{active},\"searching\":{searching},\"asleep\":{asleep}}}",
            Microseconds(at_once[0].0)
        );
        output.write("C", "workers", row, &fields)?;
    }
    Ok(())
}

/// Writes events, one per line.
struct Output<W> {
    writer: W,
    is_first: bool,
    arrows: u64,
}

impl<W: Write> Output<W> {
    /// Writes an event of a kind in a row, with further fields.
    fn write(&mut self, kind: &str, name: &str, row: Row, fields: &str) -> io::Result<()> {
        let separator = if self.is_first { "\n" } else { ",\n" };
        self.is_first = false;
        let (name, Row { pool, thread }) = (Text(name), row);
        write!(
            self.writer,
            "{separator}{{\"ph\":\"{kind}\",\"name\":{name},\"pid\":{pool},\"tid\":{thread},{fields}}}"
        )
    }

    fn name(&mut self, row: Row, what: &str, name: &str) -> io::Result<()> {
        self.write(
            "M",
            what,
            row,
            &format!("\"args\":{{\"name\":{}}}", Text(name)),
        )
    }

    fn span(&mut self, row: Row, span: &Span) -> io::Result<()> {
        let when = (span.begin, span.end - span.begin);
        let name = match span.kind {
            SpanKind::Job(name) => {
                let arguments = format!("\"type\":{}", Text(name.get().unwrap_or("unknown")));
                return self.slice(row, when, names::short(name), "job", &arguments);
            }
            SpanKind::Searching => "searching",
            SpanKind::Asleep => "asleep",
            SpanKind::Blocked => "blocked",
            SpanKind::Guest => "guest",
            SpanKind::Label(label) => return self.slice(row, when, label, "label", ""),
        };
        self.slice(row, when, name, "state", "")
    }

    fn slice(
        &mut self,
        row: Row,
        (begin, length): (Duration, Duration),
        name: &str,
        category: &str,
        arguments: &str,
    ) -> io::Result<()> {
        let (begin, length) = (Microseconds(begin), Microseconds(length));
        let fields = format!(
            "\"cat\":\"{category}\",\"ts\":{begin},\"dur\":{length},\"args\":{{{arguments}}}"
        );
        self.write("X", name, row, &fields)
    }

    fn instant(
        &mut self,
        row: Row,
        time: Duration,
        name: &str,
        argument: Option<(&str, usize)>,
    ) -> io::Result<()> {
        let argument = argument.map(|(name, value)| format!("\"{name}\":{value}"));
        let (time, argument) = (Microseconds(time), argument.unwrap_or_default());
        let fields = format!("\"s\":\"t\",\"ts\":{time},\"args\":{{{argument}}}");
        self.write("i", name, row, &fields)
    }

    /// Writes an arrow from one row and moment to another, unless one of the rows has no span
    /// there.
    fn arrow(
        &mut self,
        name: &str,
        (from, begin): (Row, Duration),
        (to, end): (Row, Duration),
        rows: &Rows,
    ) -> io::Result<()> {
        let begin = match from.thread {
            OUTSIDE => Some(begin),
            _ => rows.anchor(from, begin),
        };
        let Some(begin) = begin else {
            return Ok(());
        };
        let end = rows.anchor(to, end).filter(|&end| end >= begin);
        let Some(end) = end.or_else(|| rows.anchor_from(to, begin)) else {
            return Ok(());
        };
        self.arrows += 1;
        let (id, begin, end) = (self.arrows, Microseconds(begin), Microseconds(end));
        let fields = format!("\"cat\":\"{name}\",\"id\":{id},\"ts\":{begin}");
        self.write("s", name, from, &fields)?;
        let fields = format!("\"cat\":\"{name}\",\"id\":{id},\"bp\":\"e\",\"ts\":{end}");
        self.write("f", name, to, &fields)
    }
}

/// A time in the unit of the format, with all its nanoseconds.
struct Microseconds(Duration);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:03}",
            self.0.as_micros(),
            self.0.subsec_nanos() % 1_000
        )
    }
}

#[cfg(test)]
mod tests;

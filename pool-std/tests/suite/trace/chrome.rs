//! The format of Chrome: that a trace is one, as its description says.
#![cfg(not(miri))]

use std::collections::HashMap;

use pool_std::{ThreadPool, ThreadPoolBuilder, join, trace::Trace};
use serde_json::Value;

use super::pool;

/// Times are in microseconds with three digits, which floating point rounds.
const ROUNDING: f64 = 0.001;

/// What a viewer needs to know of a row: the slices of a process and a thread.
type Rows = HashMap<(u64, u64), Vec<(f64, f64)>>;

fn events_of(trace: &Trace) -> Vec<Value> {
    let mut json = Vec::new();
    trace.write_chrome(&mut json).unwrap();
    events_in(&json)
}

/// Returns the events of a file. It must be an object with a list.
pub(super) fn events_in(json: &[u8]) -> Vec<Value> {
    let file: Value = serde_json::from_slice(json).unwrap();
    file["traceEvents"].as_array().unwrap().clone()
}

fn number(event: &Value, field: &str) -> f64 {
    let number = event[field].as_f64();
    number.unwrap_or_else(|| panic!("{field} of {event}"))
}

/// Checks that the file has what viewers rely on, and returns how many slices and arrows it has.
pub(super) fn validate(events: &[Value], workers: f64) -> [usize; 2] {
    let mut rows = Rows::new();
    let (mut begins, mut ends) = (HashMap::new(), HashMap::new());
    for event in events {
        let row = |event: &Value| {
            (
                event["pid"].as_u64().unwrap(),
                event["tid"].as_u64().unwrap(),
            )
        };
        assert!(event["name"].is_string(), "{event}");
        match event["ph"].as_str().unwrap() {
            "M" => assert!(event["args"]["name"].is_string(), "{event}"),
            "X" => {
                let (begin, length) = (number(event, "ts"), number(event, "dur"));
                assert!(begin >= 0.0 && length >= 0.0, "{event}");
                rows.entry(row(event))
                    .or_default()
                    .push((begin, begin + length));
            }
            "i" => assert!(number(event, "ts") >= 0.0 && event["s"] == "t", "{event}"),
            "s" => {
                let place = (row(event), number(event, "ts"));
                assert_eq!(begins.insert(event["id"].as_u64().unwrap(), place), None);
            }
            "f" => {
                assert_eq!(event["bp"], "e", "{event}");
                let place = (row(event), number(event, "ts"));
                assert_eq!(ends.insert(event["id"].as_u64().unwrap(), place), None);
            }
            "C" => {
                let counts = event["args"].as_object().unwrap().values();
                let counts: Vec<_> = counts.map(|count| count.as_f64().unwrap()).collect();
                let sum: f64 = counts.iter().sum();
                assert!(counts.iter().all(|&count| count >= 0.0), "{event}");
                assert!(sum <= workers, "{event}");
            }
            other => panic!("an event of the kind {other}"),
        }
    }
    rows.values_mut().for_each(|slices| check_nesting(slices));
    assert_eq!(begins.len(), ends.len());
    for (id, (from, begin)) in &begins {
        let (to, end) = ends[id];
        assert!(*begin <= end, "arrow {id} ends before it begins");
        for (row, time) in [(*from, *begin), (to, end)] {
            let slices = rows.get(&row).into_iter().flatten();
            let mut around =
                slices.filter(|slice| slice.0 <= time + ROUNDING && time <= slice.1 + ROUNDING);
            assert!(
                around.next().is_some(),
                "arrow {id} is in no slice of {row:?} at {time}"
            );
        }
    }
    [rows.values().map(Vec::len).sum(), begins.len()]
}

/// Two slices of one row are apart, or one is in the other.
fn check_nesting(slices: &mut [(f64, f64)]) {
    slices.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let mut around: Vec<(f64, f64)> = Vec::new();
    for &slice in slices.iter() {
        while around
            .last()
            .is_some_and(|outer| outer.1 <= slice.0 + ROUNDING)
        {
            around.pop();
        }
        if let Some(outer) = around.last() {
            assert!(
                slice.1 <= outer.1 + ROUNDING,
                "{slice:?} crosses the end of {outer:?}"
            );
        }
        around.push(slice);
    }
}

fn busy(pool: &ThreadPool) {
    fn tree(depth: u32) -> u64 {
        match depth {
            0 => (0..1_000).sum(),
            _ => {
                let (a, b) = join(|| tree(depth - 1), || tree(depth - 1));
                a + b
            }
        }
    }
    for _ in 0..5 {
        pool.install(|| tree(8));
        pool.scope(|scope| (0..20).for_each(|_| scope.spawn(|_| _ = tree(2))));
    }
    pool.wait_idle().unwrap();
}

#[test]
fn a_trace_is_a_chrome_trace() {
    for threads in [1, 2, 4] {
        let pool = pool(threads, 50_000);
        let (mut slices, mut arrows) = (0, 0);
        // Alone, a worker has nothing to steal, and may stay awake. With others it has, in the end.
        while slices < 100 || (threads > 1 && arrows == 0) {
            busy(&pool);
            [slices, arrows] = validate(&events_of(&pool.trace()), threads as f64);
        }
    }
}

/// A viewer must not fail on what is left when the start of everything is gone.
#[test]
fn a_trace_without_its_begin_is_a_chrome_trace() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .trace(30)
        .build()
        .unwrap();
    busy(&pool);
    let trace = pool.trace();
    assert!(trace.pools()[0].workers()[0].overwritten() > 0);
    let [slices, _] = validate(&events_of(&trace), 1.0);
    assert!(slices > 0);
}

#[test]
fn a_trace_of_a_running_pool_is_a_chrome_trace() {
    let pool = pool(2, 50_000);
    let mut slices = 0;
    std::thread::scope(|threads| {
        let busy = threads.spawn(|| busy(&pool));
        while !busy.is_finished() {
            // Arrows may begin at what a worker does while another one's events are read.
            let events = events_of(&pool.trace());
            let without_arrows = |event: &Value| event["ph"] != "s" && event["ph"] != "f";
            let events: Vec<_> = events.into_iter().filter(without_arrows).collect();
            slices += validate(&events, 2.0)[0];
        }
    });
    let [last, _] = validate(&events_of(&pool.trace()), 2.0);
    assert!(slices + last > 0);
}

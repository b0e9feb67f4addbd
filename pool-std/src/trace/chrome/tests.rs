use super::*;

const FROM: Row = Row { pool: 1, thread: 1 };
const TO: Row = Row { pool: 1, thread: 2 };

fn at(microseconds: u64) -> Duration {
    Duration::from_micros(microseconds)
}

/// Returns what is written for an arrow between two rows with these spans.
fn arrow(from: &[(u64, u64)], to: &[(u64, u64)], begin: u64, end: u64) -> String {
    let spans = |spans: &[(u64, u64)]| -> Vec<_> {
        let span = |&(begin, end): &(u64, u64)| Span {
            kind: SpanKind::Guest,
            begin: at(begin),
            end: at(end),
            depth: 0,
        };
        spans.iter().map(span).collect()
    };
    let rows = Rows {
        by_number: HashMap::new(),
        spans: HashMap::new(),
        outermost: HashMap::from([(FROM, spans(from)), (TO, spans(to))]),
    };
    let mut output = Output {
        writer: Vec::new(),
        is_first: true,
        arrows: 0,
    };
    let (begin, end) = ((FROM, at(begin)), (TO, at(end)));
    output.arrow("steal", begin, end, &rows).unwrap();
    let text = String::from_utf8(output.writer).unwrap();
    let times = text.split("\"ts\":").skip(1);
    let times: Vec<_> = times.map(|it| it.split('.').next().unwrap()).collect();
    times.join(" to ")
}

#[test]
fn an_arrow_begins_and_ends_where_its_rows_have_spans() {
    assert_eq!(arrow(&[(0, 10)], &[(0, 10)], 3, 5), "3 to 5");
    assert_eq!(arrow(&[(0, 2)], &[(6, 10)], 3, 5), "2 to 6");
    assert_eq!(arrow(&[], &[(6, 10)], 3, 5), "", "there is no place for it");
}

/// The begin of an arrow may move to a time after the span that is nearest to its end.
#[test]
fn an_arrow_that_begins_late_ends_in_a_later_span() {
    assert_eq!(arrow(&[(8, 10)], &[(0, 5), (9, 12)], 4, 5), "8 to 9");
    assert_eq!(arrow(&[(8, 10)], &[(0, 5), (6, 12)], 4, 5), "8 to 8");
    assert_eq!(
        arrow(&[(8, 10)], &[(0, 5)], 4, 5),
        "",
        "no span comes later"
    );
}

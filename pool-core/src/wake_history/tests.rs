use super::*;

#[test]
fn many_wake_ups_in_a_row_for_nothing_are_enough() {
    let history = WakeHistory::new();
    for _ in 0..MOST_FRUITLESS {
        assert!(!history.is_fruitless());
        history.record_fruitless();
    }
    assert!(history.is_fruitless());
    history.record_fruitless();
    assert!(history.is_fruitless());
    history.record_useful();
    for _ in 1..MOST_FRUITLESS {
        history.record_fruitless();
    }
    assert!(!history.is_fruitless(), "not in a row");
}

#[test]
fn a_long_join_makes_joins_wake_workers_again() {
    let history = WakeHistory::new();
    (0..MOST_FRUITLESS).for_each(|_| history.record_fruitless());
    history.record_duration(WORTH_A_WAKE_UP);
    assert!(history.is_fruitless());
    history.record_duration(WORTH_A_WAKE_UP + 1);
    assert!(!history.is_fruitless());
}

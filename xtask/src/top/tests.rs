use std::{
    fs,
    io::Write as _,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
};

use ratatui::{Terminal, backend::TestBackend};

use super::*;

/// Answers of a program a second apart: its first pool has a worker that computes, one that sleeps
/// and one that is blocked, and its second pool is new.
fn answers() -> [Answer; 2] {
    let before = r#"{"process":7,"program":"sums","time_ns":1000000000,"pools":[
        {"number":1,"jobs_from_outside":0,"workers":[
        {"state":"active","label":null,"blocked_ns":null,"queued":0,"jobs":10,"posted":0,
         "stolen":1,"sleeps":0,"wakes":0,"fruitless":0,"active_ns":500,"idle_ns":0,
         "asleep_ns":0,"job":null},
        {"state":"idle","label":null,"blocked_ns":null,"queued":0,"jobs":0,"posted":0,
         "stolen":0,"sleeps":0,"wakes":0,"fruitless":0,"active_ns":0,"idle_ns":0,
         "asleep_ns":0,"job":null},
        {"state":"active","label":null,"blocked_ns":null,"queued":0,"jobs":1,"posted":0,
         "stolen":0,"sleeps":0,"wakes":0,"fruitless":0,"active_ns":0,"idle_ns":0,
         "asleep_ns":0,"job":null}]}]}"#;
    let now = r#"{"process":7,"program":"sums","time_ns":2000000000,"pools":[
        {"number":1,"jobs_from_outside":3,"workers":[
        {"state":"active","label":null,"blocked_ns":null,"queued":12,"jobs":25010,"posted":0,
         "stolen":3,"sleeps":0,"wakes":0,"fruitless":0,"active_ns":900000500,"idle_ns":100000000,
         "asleep_ns":0,"job":{"name":"sums::add","type":"Job<sums::add>","part":"left","for_ns":1500000,"depth":2}},
        {"state":"asleep","label":null,"blocked_ns":null,"queued":0,"jobs":0,"posted":0,
         "stolen":0,"sleeps":3,"wakes":2,"fruitless":0,"active_ns":0,"idle_ns":50000000,
         "asleep_ns":950000000,"job":null},
        {"state":"blocked","label":"a\nlock","blocked_ns":200000000000,"queued":0,"jobs":1,"posted":0,
         "stolen":0,"sleeps":0,"wakes":0,"fruitless":0,"active_ns":1000000000,"idle_ns":0,
         "asleep_ns":0,"job":null}]},
        {"number":4,"jobs_from_outside":0,"workers":[
        {"state":"absent","label":null,"blocked_ns":null,"queued":0,"jobs":5,"posted":0,
         "stolen":0,"sleeps":0,"wakes":0,"fruitless":0,"active_ns":0,"idle_ns":0,
         "asleep_ns":0,"job":null}]}]}"#;
    [before, now].map(|answer| serde_json::from_str(answer).unwrap())
}

fn rows() -> Rows {
    let [before, now] = answers();
    Rows::between(&before, &now)
}

/// Reproduces a bug: the name of a program came to the terminal with the control characters in it.
#[test]
fn the_name_of_a_program_has_no_control_characters() {
    let answer = r#"{"process":7,"program":"a\n\u001b[31mb","time_ns":1,"pools":[]}"#;
    let answer: Answer = serde_json::from_str(answer).unwrap();
    assert_eq!(answer.program, "a  [31mb");
}

#[test]
fn prints_tables() {
    let expected = "\
sums, process 7

pool 1: 3 workers, 25 k jobs/s, 12 queued, 3 from outside
 worker  state    queued  jobs/s  stolen/s  wakes/s  active    for  runs
      0  active       12    25 k         2        0    90 %   1 ms  sums::add: left (+2 that wait)
      1  asleep        0       0         0        2     0 %
      2  blocked       0       0         0        0   100 %  3 min  waits: a lock

pool 4: 1 worker, - jobs/s, 0 queued, 0 from outside
 worker  state   queued  jobs/s  stolen/s  wakes/s  active  for  runs
      0  absent       0       -         -        -       -
";
    assert_eq!(rows().to_string(), expected);
}

/// The page "My program hangs" says what to look for.
#[test]
fn says_how_many_jobs_wait_below() {
    let job = |depth: u64| -> program::Job {
        let job =
            serde_json::json!({"name": "sums::add", "part": null, "for_ns": 1, "depth": depth});
        serde_json::from_value(job).unwrap()
    };
    let texts = [0, 1, 2].map(|depth| job(depth).to_string());
    let [none, one, two] = texts.each_ref().map(String::as_str);
    assert_eq!(none, "sums::add");
    assert_eq!(one, "sums::add (+1 that waits)");
    assert_eq!(two, "sums::add (+2 that wait)");
    assert!(include_str!("../../../docs/src/hangs.md").contains("`(+1 that waits)`"));
}

fn drawn(view: &mut View) -> String {
    let mut terminal = Terminal::new(TestBackend::new(90, 8)).unwrap();
    let rows = rows();
    let draw = |frame: &mut ratatui::Frame<'_>| {
        frame.render_widget(Screen::new(&rows, view), frame.area());
    };
    terminal.draw(draw).unwrap();
    terminal.backend().to_string()
}

#[test]
fn draws_the_pool_that_was_chosen() {
    let mut view = View::default();
    let screen = drawn(&mut view);
    assert!(screen.contains("sums, process 7, pool 1 of 2"), "{screen}");
    assert!(screen.contains("12      25 k"), "{screen}");
    assert!(screen.contains("waits: a lock"), "{screen}");
    assert!(screen.contains("q: quit"), "{screen}");

    view.pool = 1;
    view.is_paused = true;
    let screen = drawn(&mut view);
    assert!(screen.contains("pool 2 of 2, paused"), "{screen}");
    assert!(
        screen.contains("absent") && !screen.contains("asleep"),
        "{screen}"
    );
}

/// The keys may go beyond what there is, and pools may end.
#[test]
fn a_choice_beyond_the_end_becomes_the_last_one() {
    let mut view = View {
        pool: 9,
        first_worker: 9,
        is_paused: false,
    };
    let screen = drawn(&mut view);
    assert!(screen.contains("pool 2 of 2"), "{screen}");
    assert!(screen.contains("absent"), "{screen}");
    assert_eq!((view.pool, view.first_worker), (1, 0));
}

/// A directory for sockets, whose path is short, as those of sockets must be.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("top-{name}-{}", std::process::id()));
        _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Plays a program that answers so many times.
    fn serve(&self, process: u32, times: usize, answer: &str) -> JoinHandle<()> {
        let listener = UnixListener::bind(self.0.join(process.to_string())).unwrap();
        let answer = answer.to_owned();
        thread::spawn(move || {
            for _ in 0..times {
                let (mut viewer, _) = listener.accept().unwrap();
                viewer.write_all(answer.as_bytes()).unwrap();
            }
        })
    }

    fn error_of(&self, process: Option<u32>) -> String {
        let found = Socket::find_in(&self.0, process);
        format!("{:#}", found.err().expect("nothing to find"))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

const ANSWER: &str = r#"{"process":7,"program":"sums","time_ns":1,"pools":[]}"#;

#[test]
fn finds_the_only_program_that_answers() {
    let directory = Directory::new("only");
    assert!(
        directory
            .error_of(None)
            .starts_with("no program can be seen; build")
    );
    // One that has ended leaves its socket.
    drop(UnixListener::bind(directory.0.join("6")).unwrap());
    let program = directory.serve(7, 2, ANSWER);
    let socket = Socket::find_in(&directory.0, None).unwrap();
    assert_eq!(socket.ask().unwrap().program, "sums");
    program.join().unwrap();
    assert!(
        socket
            .ask()
            .unwrap_err()
            .to_string()
            .starts_with("no program listens")
    );
}

#[test]
fn names_all_if_there_are_several() {
    let directory = Directory::new("several");
    let programs = [7, 8].map(|process| directory.serve(process, 1, ANSWER));
    let error = directory.error_of(None);
    assert!(error.starts_with("several programs"), "{error}");
    assert_eq!(error.matches("\n         7 sums").count(), 2, "{error}");
    for program in programs {
        program.join().unwrap();
    }
}

#[test]
fn a_process_that_is_not_seen_is_an_error() {
    let directory = Directory::new("unseen");
    let error = directory.error_of(Some(9));
    assert!(
        error.starts_with("process 9 cannot be seen; build"),
        "{error}"
    );
    let nowhere = Socket::find_in(Path::new("/nowhere"), None);
    assert!(nowhere.is_err_and(|error| error.to_string().starts_with("no program")));
}

#[test]
fn an_answer_of_another_version_is_an_error() {
    let directory = Directory::new("version");
    let program = directory.serve(7, 1, r#"{"process":7}"#);
    let socket = Socket::find_in(&directory.0, Some(7)).unwrap();
    let error = socket.ask().unwrap_err().to_string();
    assert!(error.contains("this version of `top`"), "{error}");
    program.join().unwrap();
}

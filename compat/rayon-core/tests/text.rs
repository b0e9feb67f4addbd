//! What rayon-core's types print, and what its errors say.

use std::{error::Error, io, sync::Mutex};

use rayon_core::{ThreadPoolBuildError, ThreadPoolBuilder};

#[test]
fn builder() {
    assert_eq!(
        format!("{:?}", ThreadPoolBuilder::new()),
        "ThreadPoolBuilder { num_threads: 0, use_current_thread: false, get_thread_name: None, \
         panic_handler: None, stack_size: None, start_handler: None, exit_handler: None, \
         breadth_first: false }"
    );
    let told = ThreadPoolBuilder::new()
        .num_threads(3)
        .use_current_thread()
        .thread_name(|_| String::new())
        .stack_size(4096)
        .spawn_handler(|_| Ok(()));
    assert_eq!(
        format!("{told:?}"),
        "ThreadPoolBuilder { num_threads: 3, use_current_thread: true, \
         get_thread_name: Some(<closure>), panic_handler: None, stack_size: Some(4096), \
         start_handler: None, exit_handler: None, breadth_first: false }"
    );
}

/// Returns the names of the fields, in their order, in what a struct prints.
fn fields(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut fields = Vec::new();
    for word in text.split_whitespace() {
        if depth == 1
            && let Some(name) = word.strip_suffix(':')
        {
            fields.push(name);
        }
        depth += word.matches('{').count();
        depth -= word.matches('}').count();
    }
    fields
}

#[test]
fn pool_and_thread() {
    let threads = Mutex::new(Vec::new());
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .thread_name(|index| format!("worker {index}"))
        .spawn_handler(|thread| {
            threads.lock().unwrap().push(format!("{thread:?}"));
            std::thread::spawn(|| thread.run());
            Ok(())
        })
        .build()
        .unwrap();
    let text = format!("{pool:?}");
    assert!(
        text.starts_with("ThreadPool { num_threads: 1, id: "),
        "{text}"
    );
    assert_eq!(fields(&text), ["num_threads", "id"]);
    let text = &threads.lock().unwrap()[0];
    assert_eq!(fields(text), ["pool", "index", "name", "stack_size"]);
    assert!(
        text.ends_with(", index: 0, name: Some(\"worker 0\"), stack_size: None }"),
        "{text}"
    );
}

#[test]
fn scopes_and_contexts() {
    let text = rayon_core::scope(|scope| format!("{scope:?}"));
    assert!(text.starts_with("Scope { pool_id: "), "{text}");
    assert_eq!(fields(&text), ["pool_id", "panic", "job_completed_latch"]);

    let text = rayon_core::scope_fifo(|scope| format!("{scope:?}"));
    assert!(text.starts_with("ScopeFifo { num_fifos: "), "{text}");
    let expected = ["num_fifos", "pool_id", "panic", "job_completed_latch"];
    assert_eq!(fields(&text), expected);

    let text = &rayon_core::broadcast(|context| format!("{context:?}"))[0];
    assert!(
        text.starts_with("BroadcastContext { index: 0, num_threads: "),
        "{text}"
    );
    assert_eq!(fields(text), ["index", "num_threads", "pool_id"]);

    // From outside, the closure stays on the caller's thread if that is a guest.
    let text = || rayon_core::join_context(|context| format!("{context:?}"), |_| ()).0;
    let on_a_worker = &rayon_core::broadcast(|_| text())[0];
    assert_eq!(
        on_a_worker,
        "FnContext { migrated: false, _marker: PhantomData<*mut ()> }"
    );

    assert_eq!(format!("{:?}", rayon_core::Yield::Executed), "Executed");
    assert_eq!(format!("{:?}", rayon_core::Yield::Idle), "Idle");
}

fn refused(error: io::Error) -> ThreadPoolBuildError {
    let mut error = Some(error);
    ThreadPoolBuilder::new()
        .num_threads(1)
        .spawn_handler(|_| Err(error.take().unwrap()))
        .build()
        .unwrap_err()
}

#[test]
#[allow(deprecated)]
fn errors() {
    let error = refused(io::Error::new(
        io::ErrorKind::WouldBlock,
        "no thread for you",
    ));
    assert_eq!(error.to_string(), "no thread for you");
    let source = error.source().unwrap().downcast_ref::<io::Error>().unwrap();
    assert_eq!(source.kind(), io::ErrorKind::WouldBlock);
    assert!(format!("{error:?}").starts_with("ThreadPoolBuildError { kind: IOError("));

    let error = std::thread::spawn(|| {
        let builder = || ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        let _pool = builder().build().unwrap();
        builder().build().unwrap_err()
    });
    let error = error.join().unwrap();
    let text = "The current thread is already part of another thread pool.";
    assert_eq!(
        (error.to_string().as_str(), error.description()),
        (text, text)
    );
    assert!(error.source().is_none());
    assert_eq!(
        format!("{error:?}"),
        "ThreadPoolBuildError { kind: CurrentThreadAlreadyInPool }"
    );
}

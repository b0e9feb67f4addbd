//! A lock-free hash map whose removed entries are freed by thread progress. Its readers do not
//! register.
//!
//! The map is Michael's ("High performance dynamic lock-free hash tables and list-based sets",
//! 2002): sorted lists, in which a removed entry is first marked and then unlinked. Writers are
//! managed threads. Readers delay progress for each look.
//!
//! A guard protects only what its own instance frees. So the map has the instance, and takes the
//! guards itself: no caller can pass that of another instance.
//!
//! ```sh
//! cargo run --release -p progress-core --example hash_map
//! ```

use std::{
    hint::black_box,
    ptr,
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering},
    },
    thread,
};

use progress_core::{
    Active, ManagedThread, Participant, Progress, Reclaimable, TooManyParticipants,
};
use sleep_core::Parker;

const BUCKETS: usize = 64;
const KEYS: u64 = if cfg!(miri) { 60 } else { 1000 };
const WRITERS: usize = 2;
const READERS: usize = 2;
/// How often each writer adds, or removes, all its keys.
const ROUNDS: u64 = if cfg!(miri) { 6 } else { 300 };

type Threads = (ThreadParker, [Participant<ThreadParker>; WRITERS]);
type Link<V> = AtomicPtr<Reclaimable<Entry<V>>>;

/// A map from numbers to values.
struct Map<V> {
    buckets: [Link<V>; BUCKETS],
    /// Frees the removed entries.
    progress: Progress<Threads>,
}

/// A thread that may change a map.
struct Writer<'m, V> {
    map: &'m Map<V>,
    thread: ManagedThread<'m, Threads>,
}

struct Entry<V> {
    key: u64,
    value: V,
    /// The next entry. The link is marked if this entry is removed.
    next: Link<V>,
}

/// The place where a key is or would be.
struct Position<'m, V> {
    /// The link that leads to the first entry that is not before the key.
    link: &'m Link<V>,
    entry: *mut Reclaimable<Entry<V>>,
    is_found: bool,
}

impl<V: Send + Sync + 'static> Map<V> {
    fn new() -> Self {
        Self {
            buckets: [const { AtomicPtr::new(ptr::null_mut()) }; BUCKETS],
            progress: Progress::new([const { Participant::new(ThreadParker::new()) }; WRITERS]),
        }
    }

    /// Returns a handle by which the calling thread changes the map.
    fn writer(&self) -> Result<Writer<'_, V>, TooManyParticipants> {
        let thread = self.progress.register()?;
        Ok(Writer { map: self, thread })
    }

    /// Passes the value of a key to a closure.
    fn get<R>(&self, key: u64, read: impl FnOnce(&V) -> R) -> Option<R> {
        let _delay = self.progress.delay();
        let mut entry = self.bucket(key).load(Ordering::Acquire);
        // SAFETY: the entry was in reach after the delay began, so it is not freed before the delay
        // ends.
        while let Some(found) = unsafe { unmarked(entry).as_ref() } {
            let next = found.next.load(Ordering::Acquire);
            if found.key >= key {
                return (found.key == key && !is_marked(next)).then(|| read(&found.value));
            }
            entry = next;
        }
        None
    }

    /// Looks for a key, and unlinks the removed entries on the way. The writer is one of this map.
    fn find(&self, key: u64, writer: &mut Active<'_, '_, Threads>) -> Position<'_, V> {
        'again: loop {
            let mut link = self.bucket(key);
            let mut entry = link.load(Ordering::Acquire);
            // SAFETY: the writer has been active since before this search, so nothing that it finds
            // is freed.
            while let Some(found) = unsafe { entry.as_ref() } {
                let next = found.next.load(Ordering::Acquire);
                if is_marked(next) {
                    if !replace(link, entry, unmarked(next)) {
                        continue 'again;
                    }
                    // SAFETY: obligation 1: the entry came from a box, and only this thread has
                    // unlinked it. Obligation 2: a thread that begins to read now does not find it.
                    unsafe { writer.retire(entry) };
                    entry = unmarked(next);
                } else if found.key >= key {
                    let is_found = found.key == key;
                    return Position {
                        link,
                        entry,
                        is_found,
                    };
                } else {
                    link = &found.next;
                    entry = next;
                }
            }
            let is_found = false;
            return Position {
                link,
                entry,
                is_found,
            };
        }
    }

    fn bucket(&self, key: u64) -> &Link<V> {
        &self.buckets[(key % BUCKETS as u64) as usize]
    }
}

impl<V: Send + Sync + 'static> Writer<'_, V> {
    /// Adds a value. Returns false if the key has one.
    fn insert(&mut self, key: u64, value: V) -> bool {
        let mut active = self.thread.activate();
        let next = AtomicPtr::new(ptr::null_mut());
        let mut new = Box::new(Reclaimable::new(Entry { key, value, next }));
        loop {
            let position = self.map.find(key, &mut active);
            if position.is_found {
                return false;
            }
            *new.next.get_mut() = position.entry;
            let pointer = Box::into_raw(new);
            if replace(position.link, position.entry, pointer) {
                return true;
            }
            // SAFETY: no other thread has seen the entry.
            new = unsafe { Box::from_raw(pointer) };
        }
    }

    /// Removes a key. Returns false if it was not there.
    fn remove(&mut self, key: u64) -> bool {
        let mut active = self.thread.activate();
        loop {
            let position = self.map.find(key, &mut active);
            if !position.is_found {
                return false;
            }
            // SAFETY: the thread has been active since before it found the entry.
            let entry = unsafe { &*position.entry };
            let next = entry.next.load(Ordering::Acquire);
            if is_marked(next) || !replace(&entry.next, next, marked(next)) {
                continue;
            }
            // The entry is removed. The next writer that passes unlinks it.
            self.map.find(key, &mut active);
            return true;
        }
    }

    /// Makes progress, and frees removed entries whose time has come.
    fn tick(&mut self) {
        self.thread.activate().tick();
    }

    /// Waits until all entries that this thread has unlinked are freed.
    fn free_all(&mut self) {
        while self.thread.pending() > 0 {
            self.thread.wait();
        }
    }
}

impl<V> Drop for Map<V> {
    fn drop(&mut self) {
        for bucket in &mut self.buckets {
            let mut entry = unmarked(*bucket.get_mut());
            while !entry.is_null() {
                // SAFETY: what is still linked was not retired, and no other thread has the map.
                let mut boxed = unsafe { Box::from_raw(entry) };
                entry = unmarked(*boxed.next.get_mut());
            }
        }
    }
}

fn replace<T>(link: &AtomicPtr<T>, old: *mut T, new: *mut T) -> bool {
    link.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
}

fn is_marked<T>(pointer: *mut T) -> bool {
    pointer.addr() & 1 == 1
}

fn marked<T>(pointer: *mut T) -> *mut T {
    pointer.map_addr(|address| address | 1)
}

fn unmarked<T>(pointer: *mut T) -> *mut T {
    pointer.map_addr(|address| address & !1)
}

/// A thread of the operating system that waits for progress.
struct ThreadParker {
    token: Mutex<bool>,
    given: Condvar,
}

impl ThreadParker {
    const fn new() -> Self {
        Self {
            token: Mutex::new(false),
            given: Condvar::new(),
        }
    }
}

impl Parker for ThreadParker {
    fn park(&self) {
        let mut token = self.token.lock().unwrap();
        while !std::mem::take(&mut *token) {
            token = self.given.wait(token).unwrap();
        }
    }

    fn unpark(&self) {
        *self.token.lock().unwrap() = true;
        self.given.notify_one();
    }
}

/// A value that counts its instances and detects a read after its drop.
struct Counted {
    key: u64,
    is_alive: bool,
}

static ALIVE: AtomicUsize = AtomicUsize::new(0);

impl Counted {
    fn new(key: u64) -> Self {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Self {
            key,
            is_alive: true,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        black_box(&mut self.is_alive);
        self.is_alive = false;
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Adds and removes keys. Each writer has its own keys, so that it knows what to expect.
fn write(map: &Map<Counted>, number: u64) {
    let mut writer = map.writer().expect("a participant for each writer");
    let own_keys = || (number..KEYS).step_by(WRITERS);
    for round in 0..ROUNDS {
        for key in own_keys() {
            if round % 2 == 0 {
                assert!(writer.insert(key, Counted::new(key)));
            } else {
                assert!(writer.remove(key));
            }
            writer.tick();
        }
    }
    for key in own_keys() {
        writer.remove(key);
    }
    writer.free_all();
}

/// Looks up one key after the other, and returns the number of those that were there.
fn read(map: &Map<Counted>, stop: &AtomicBool) -> u64 {
    let mut found = 0;
    while !stop.load(Ordering::Relaxed) {
        for key in 0..KEYS {
            let check = |value: &Counted| assert!(value.is_alive && value.key == key);
            found += u64::from(map.get(key, check).is_some());
        }
    }
    found
}

fn main() {
    let map = Map::new();
    let stop = AtomicBool::new(false);
    let found: u64 = thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|_| scope.spawn(|| read(&map, &stop)))
            .collect();
        let writers: Vec<_> = (0..WRITERS as u64)
            .map(|number| {
                let map = &map;
                scope.spawn(move || write(map, number))
            })
            .collect();
        let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        // Before a panic goes on: the scope waits for the readers.
        stop.store(true, Ordering::Relaxed);
        for result in ended {
            result.expect("a writer does not panic");
        }
        readers
            .into_iter()
            .map(|reader| reader.join().expect("nor does a reader"))
            .sum()
    });
    println!("{found} entries were read while they were added and removed");
    println!("{:?}", map.progress);
    drop(map);
    assert_eq!(
        ALIVE.load(Ordering::Relaxed),
        0,
        "every removed entry was freed"
    );
}

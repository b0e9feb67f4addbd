//! A map that the jobs of a pool read without locks, while others change it.
//!
//! Writers of the same bucket exclude each other by a mutex. Readers take none: they take a guard,
//! and what a writer unlinks meanwhile is freed when all guards are gone that might see it.
//!
//! A guard protects only what its own pool frees. So the map takes the guards itself: no caller can
//! pass that of another pool.
//!
//! ```sh
//! cargo run --release -p pool-std --example concurrent_map
//! ```

use std::{
    collections::hash_map::RandomState,
    fmt,
    hash::{BuildHasher, Hash},
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicPtr, AtomicUsize, Ordering},
    },
};

use pool_std::{
    ThreadPoolBuilder,
    progress::{Guard, Progress, Reclaimable},
};

/// A map that is read without locks.
pub struct Map<K, V> {
    buckets: Box<[Bucket<K, V>]>,
    hasher: RandomState,
    progress: Progress,
}

impl<K, V> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map")
            .field("buckets", &self.buckets.len())
            .finish_non_exhaustive()
    }
}

/// A linked list.
struct Bucket<K, V> {
    first: Link<K, V>,
    writers: Mutex<()>,
}

type Link<K, V> = AtomicPtr<Reclaimable<Entry<K, V>>>;

struct Entry<K, V> {
    key: K,
    value: V,
    next: Link<K, V>,
}

impl<K, V> Map<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    /// Creates an empty map, whose removed entries are freed by the progress of a pool.
    pub fn new(buckets: usize, progress: Progress) -> Self {
        let bucket = || Bucket {
            first: AtomicPtr::default(),
            writers: Mutex::new(()),
        };
        Self {
            buckets: (0..buckets.max(1)).map(|_| bucket()).collect(),
            hasher: RandomState::new(),
            progress,
        }
    }

    /// Passes the value of a key to a closure, if there is one. No locks, and in a job no writes to
    /// what other threads write.
    pub fn get<R>(&self, key: &K, read: impl FnOnce(&V) -> R) -> Option<R> {
        self.progress.while_reading(|guard| {
            let (_, entry) = self.bucket(key).find(key, guard);
            entry.map(|entry| read(&entry.value))
        })
    }

    /// Sets the value of a key. Returns whether it had none.
    pub fn insert(&self, key: K, value: V) -> bool {
        let bucket = self.bucket(&key);
        let _writer = bucket.lock();
        let guard = self.progress.read();
        let (link, old) = bucket.find(&key, &guard);
        let next = match old {
            Some(old) => old.next.load(Ordering::Relaxed),
            None => link.load(Ordering::Relaxed),
        };
        let next = AtomicPtr::new(next);
        let entry = Box::new(Reclaimable::new(Entry { key, value, next }));
        self.replace(link, Box::into_raw(entry), old.is_some());
        old.is_none()
    }

    /// Removes a key. Returns whether it was there.
    pub fn remove(&self, key: &K) -> bool {
        let bucket = self.bucket(key);
        let _writer = bucket.lock();
        let guard = self.progress.read();
        let (link, old) = bucket.find(key, &guard);
        if let Some(old) = old {
            self.replace(link, old.next.load(Ordering::Relaxed), true);
        }
        old.is_some()
    }

    /// Changes a link, and has the entry freed that it led to if that is out of reach now. With the
    /// bucket's mutex held.
    fn replace(
        &self,
        link: &Link<K, V>,
        new: *mut Reclaimable<Entry<K, V>>,
        is_out_of_reach: bool,
    ) {
        // Release: the new entry is complete for readers.
        let old = link.swap(new, Ordering::AcqRel);
        if is_out_of_reach {
            // SAFETY: 1. it came from a box, and is unlinked once, under the mutex; 2. only this
            // link led to it.
            unsafe { self.progress.retire(old) };
        }
    }

    fn bucket(&self, key: &K) -> &Bucket<K, V> {
        let hash = self.hasher.hash_one(key);
        &self.buckets[(hash % self.buckets.len() as u64) as usize]
    }
}

impl<K: Eq, V> Bucket<K, V> {
    fn lock(&self) -> impl Drop {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the entry of a key and the link that leads there, or the last link. The guard is one
    /// of the pool that frees the map's entries.
    fn find<'g>(
        &'g self,
        key: &K,
        _guard: &'g impl Guard,
    ) -> (&'g Link<K, V>, Option<&'g Entry<K, V>>) {
        let mut link = &self.first;
        // SAFETY: what is in reach is not freed before the guard is dropped.
        while let Some(entry) = unsafe { link.load(Ordering::Acquire).as_ref() } {
            if entry.key == *key {
                return (link, Some(entry));
            }
            link = &entry.next;
        }
        (link, None)
    }
}

impl<K, V> Drop for Map<K, V> {
    fn drop(&mut self) {
        for bucket in &mut self.buckets {
            let mut entry = std::mem::replace(bucket.first.get_mut(), ptr::null_mut());
            while !entry.is_null() {
                // SAFETY: it is still linked, so it was not retired, and no thread has the map.
                entry = *unsafe { Box::from_raw(entry) }.next.get_mut();
            }
        }
    }
}

/// A value that is counted, so that the end tells whether each was freed once.
struct Counted(u64);

static ALIVE: AtomicUsize = AtomicUsize::new(0);

impl Counted {
    fn new(number: u64) -> Self {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Self(number)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0 = u64::MAX;
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

const KEYS: u64 = if cfg!(miri) { 20 } else { 500 };
const ROUNDS: u64 = if cfg!(miri) { 3 } else { 200 };

/// Splits the rounds into jobs that read, and change, all keys.
fn work(map: &Map<u64, Counted>, rounds: std::ops::Range<u64>) -> u64 {
    let length = rounds.end - rounds.start;
    if length > 1 {
        let middle = rounds.start + length / 2;
        let (left, right) = pool_std::join(
            || work(map, rounds.start..middle),
            || work(map, middle..rounds.end),
        );
        return left + right;
    }
    let mut found = 0;
    for key in 0..KEYS {
        match (key + rounds.start) % 8 {
            0 => _ = map.remove(&key),
            4 => _ = map.insert(key, Counted::new(key * key)),
            _ => {}
        }
        let check = |value: &Counted| assert_eq!(value.0, key * key, "it is not freed");
        found += u64::from(map.get(&key, check).is_some());
    }
    found
}

fn main() {
    let pool = ThreadPoolBuilder::new()
        .build()
        .expect("the system has threads");
    let map = Map::new(64, pool.progress());
    let found = pool.install(|| work(&map, 0..ROUNDS));
    println!("{found} entries were read while others were replaced and removed");
    println!("{:?}", map.progress);
    drop(map);
    pool.shutdown().expect("this thread is not a worker");
    assert_eq!(
        ALIVE.load(Ordering::Relaxed),
        0,
        "each value was freed once"
    );
}

//! Every kind of element comes out of a queue as it went in.

use std::{
    boxed::Box,
    fmt::Debug,
    format,
    marker::PhantomData,
    num::NonZero,
    pin::Pin,
    ptr::NonNull,
    rc::Rc,
    string::{String, ToString},
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Wake, Waker},
    time::Duration,
    vec,
    vec::Vec,
};

use proptest::prelude::*;

use super::*;
use crate::{Deque, Fixed, Growable, Injector, Order, Steal, impl_element, testing::Tally};

/// Returns the number of words that an element takes.
fn words<T: Element>() -> usize {
    let slot = size_of::<SlotOf<T>>();
    assert_eq!(slot, size_of::<T::Words>());
    slot / size_of::<usize>()
}

/// Sends elements through each kind of queue: owner and thief, ring and blocks, with growth.
fn through_queues<T: Element>(elements: impl IntoIterator<Item = T>, check: impl Fn(usize, T)) {
    let fixed = Deque::<T, Fixed<T, 4>>::fixed(Order::Lifo);
    let growable = Deque::<T, Growable<T>>::growable(Order::Fifo);
    let injector = Injector::new();
    let owner = fixed.worker().unwrap();
    let other = growable.worker().unwrap();
    let mut count = 0;
    for element in elements {
        count += 1;
        owner.try_push(element).ok().expect("it is empty");
        let stolen = fixed.stealer().steal().success();
        owner.try_push(stolen.expect("there is one")).ok().unwrap();
        other.push(owner.pop().expect("there is one"));
    }
    let oldest = || growable.stealer().steal().success();
    while let Some(element) = oldest().or_else(|| other.pop()) {
        injector.push(element);
    }
    let mut index = 0;
    while let Steal::Success(element) = injector.steal() {
        check(index, element);
        index += 1;
    }
    assert_eq!(index, count, "elements were lost");
}

fn same<T: Element + Clone + PartialEq + Debug>(elements: impl IntoIterator<Item = T>) {
    let elements: Vec<T> = elements.into_iter().collect();
    through_queues(elements.clone(), |index, element| {
        assert_eq!(element, elements[index]);
    });
}

/// Generates a short string, since Miri is slow.
fn string() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_numbers(
        a: (u8, i8, u16, i16, u32, i32),
        b: (u64, i64, u128, i128, usize, isize),
        c: (bool, char, u32, u64),
    ) {
        same([a, (u8::MAX, i8::MIN, u16::MAX, i16::MIN, u32::MAX, i32::MIN)]);
        same([b, (u64::MAX, i64::MIN, u128::MAX, i128::MIN, usize::MAX, isize::MIN)]);
        same([b.2, 0, u128::MAX]);
        same([b.3, -1, i128::MIN]);
        same([(c.0, c.1), (true, char::MAX)]);
        same([Duration::new(b.0, c.2 % 1_000_000_000), Duration::MAX]);
        // Bits, since NaN equals nothing.
        through_queues([f32::from_bits(c.2)], |_, float| assert_eq!(float.to_bits(), c.2));
        through_queues([f64::from_bits(c.3)], |_, float| assert_eq!(float.to_bits(), c.3));
        same([NonZero::new(b.2 | 1).unwrap()]);
        same([NonZero::new(a.1), NonZero::new(0), NonZero::new(i8::MIN)]);
        same([NonZero::new(b.2), NonZero::new(0), NonZero::new(1 << 127)]);
    }

    #[test]
    fn any_options_of_numbers(a: Option<u8>, b: Option<u128>, c: Option<char>, d: Option<bool>) {
        same([a, None, Some(0)]);
        same([b, None, Some(0)]);
        same([c, None, Some('\0')]);
        same([d, None, Some(false)]);
        same([Some(()), None]);
    }

    #[test]
    fn any_strings_and_vectors(
        string in string(),
        vector in prop::collection::vec(any::<u32>(), 0..8),
        slice in prop::collection::vec(any::<(u64, bool)>(), 0..8),
        array in prop::array::uniform3(prop::option::of(string())),
    ) {
        same([string.clone(), String::new(), String::with_capacity(10)]);
        same([Some(string.clone()), None]);
        same([vector.clone(), Vec::new()]);
        same([Some(vector), None]);
        same([slice.clone().into_boxed_slice(), Box::default()]);
        same([Some(slice.clone().into_boxed_slice()), Some(Box::default()), None]);
        same([Arc::<[_]>::from(&*slice), Arc::default()]);
        same([Some(&*slice), Some(&[]), None]);
        same([&*string, ""]);
        same([string.clone().into_boxed_str()]);
        same([array, [const { None }; 3]]);
        same([(string, slice)]);
    }
}

trait Shape: Send + Sync {
    fn area(&self) -> usize;
}

impl Shape for i32 {
    fn area(&self) -> usize {
        self.unsigned_abs() as usize
    }
}

impl Shape for (u8, u8) {
    fn area(&self) -> usize {
        usize::from(self.0) * usize::from(self.1)
    }
}

#[test]
fn trait_objects() {
    fn check<P: std::ops::Deref<Target = dyn Shape>>(_: usize, shape: P) {
        assert_eq!(shape.area(), 6);
    }
    through_queues([Box::new(6) as Box<dyn Shape>, Box::new((2, 3))], check);
    through_queues([Arc::new(6) as Arc<dyn Shape>, Arc::new((2, 3))], check);
    through_queues([Rc::new(6) as Rc<dyn Shape>, Rc::new((2, 3))], check);
    through_queues([&6 as &dyn Shape, &(2, 3)], check);
    through_queues([&mut 6 as &mut dyn Shape, &mut (2, 3)], check);
    through_queues(
        [Box::pin(6) as Pin<Box<dyn Shape>>, Box::pin((2, 3))],
        check,
    );
    through_queues(
        [None, Some(Box::new(6) as Box<dyn Shape>)],
        |index, shape| {
            assert_eq!(shape.map_or(0, |shape| shape.area()), 6 * index);
        },
    );
    through_queues([&6 as *const dyn Shape], |_, shape| {
        // SAFETY: it leads to a constant.
        assert_eq!(unsafe { &*shape }.area(), 6);
    });
    let tally = Tally::default();
    let calls: Vec<Box<dyn FnOnce() -> usize>> = (0..5_usize)
        .map(|index| {
            let captured = tally.element();
            Box::new(move || {
                drop(captured);
                index
            }) as Box<dyn FnOnce() -> usize>
        })
        .collect();
    through_queues(calls, |index, call| assert_eq!(call(), index));
    assert_eq!(tally.dropped(), 5);
}

#[test]
fn pointers() {
    let numbers = [1, 2, 3];
    same(numbers.iter());
    same([NonNull::from(&numbers), NonNull::dangling()]);
    same([Some(NonNull::from(&numbers)), None]);
    same([Some(&raw const numbers), Some(std::ptr::null()), None]);
    same([&raw const numbers[..], &raw const numbers[1..]]);
    let shared = Arc::new(1);
    through_queues([Arc::downgrade(&shared), Weak::new()], |index, weak| {
        assert_eq!(weak.upgrade(), (index == 0).then(|| shared.clone()));
    });
    let shared = Rc::new(1);
    through_queues([Rc::downgrade(&shared)], |_, weak| {
        assert_eq!(weak.upgrade(), Some(shared.clone()));
    });
    assert_eq!(Rc::weak_count(&shared), 0);
    let (mut left, mut right) = (1, 2);
    through_queues([&mut left, &mut right], |_, number| *number += 10);
    assert_eq!((left, right), (11, 12));
}

#[test]
fn functions() {
    fn double(number: usize) -> usize {
        2 * number
    }
    extern "C" fn half(number: usize) -> usize {
        number / 2
    }
    through_queues(
        [double as fn(usize) -> usize, |number| number + 3],
        |index, function| {
            assert_eq!(function(3), 6, "{index}");
        },
    );
    through_queues(
        [Some(half as extern "C" fn(usize) -> usize), None],
        |index, function| {
            assert_eq!(function.map_or(0, |function| function(4)), 2 - 2 * index);
        },
    );
    through_queues([std::thread::yield_now as fn()], |_, function| function());
}

#[test]
fn wakers() {
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    let counter = Arc::new(Counter(AtomicUsize::new(0)));
    let waker = Waker::from(counter.clone());
    through_queues([waker.clone(), waker.clone()], |_, out| {
        assert_eq!(out.data(), waker.data());
        out.wake();
    });
    through_queues(
        [Some(waker.clone()), None, Some(Waker::noop().clone())],
        |_, waker| {
            waker.into_iter().for_each(Waker::wake);
        },
    );
    drop(waker);
    assert_eq!(counter.0.load(SeqCst), 3);
    assert_eq!(Arc::strong_count(&counter), 1, "a waker was lost");
}

#[test]
fn nothing_is_an_element() {
    same([(), (), ()]);
    same([PhantomData::<str>]);
    assert_eq!(words::<()>(), 0);
    let deque = Deque::growable(Order::Lifo);
    let worker = deque.worker().unwrap();
    (0..100).for_each(|_| worker.push(()));
    assert_eq!(std::iter::from_fn(|| worker.pop()).count(), 100);
}

#[test]
fn structs() {
    #[derive(Clone, Debug, PartialEq)]
    struct Named {
        number: u8,
        name: String,
    }
    impl_element!(Named {
        number: u8,
        name: String
    });

    /// The kind of element of crossbeam's test of destructors.
    struct Counted(usize, Arc<AtomicUsize>);
    impl_element!(Counted(number: usize, drops: Arc<AtomicUsize>));

    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.fetch_add(self.0, SeqCst);
        }
    }

    let name = |number: u8| Named {
        number,
        name: number.to_string(),
    };
    same((0..10).map(name));
    assert_eq!(words::<Named>(), 4);
    let drops = Arc::new(AtomicUsize::new(0));
    let elements: Vec<_> = (0..10).map(|i| Counted(i, drops.clone())).collect();
    through_queues(elements, |index, element| assert_eq!(element.0, index));
    assert_eq!(drops.load(SeqCst), 45);
    assert_eq!(Arc::strong_count(&drops), 1);
}

#[test]
fn elements_take_as_many_words_as_documented() {
    assert_eq!(words::<(u8, bool, char, usize)>(), 4);
    assert_eq!(words::<u128>(), 16 / size_of::<usize>());
    assert_eq!((words::<Box<u128>>(), words::<Option<Box<u128>>>()), (1, 1));
    assert_eq!(
        (words::<Box<dyn Shape>>(), words::<Option<Arc<dyn Shape>>>()),
        (2, 2)
    );
    assert_eq!((words::<Waker>(), words::<Option<Waker>>()), (2, 2));
    assert_eq!((words::<Vec<u8>>(), words::<Option<String>>()), (3, 3));
    assert_eq!((words::<fn(u8)>(), words::<Option<fn(u8)>>()), (1, 1));
    assert_eq!(
        (words::<Option<usize>>(), words::<Option<*mut u8>>()),
        (2, 2)
    );
    assert_eq!((words::<[u16; 5]>(), words::<Option<(&str, u8)>>()), (5, 3));
}

#[test]
fn elements_left_in_a_queue_are_dropped_with_it() {
    const COUNT: usize = if cfg!(miri) { 10 } else { 100 };
    let tally = Tally::default();
    let injector = Injector::new();
    let deque = Deque::growable(Order::Lifo);
    let worker = deque.worker().unwrap();
    for _ in 0..COUNT {
        injector.push(vec![tally.element()]);
        worker.push((
            tally.element(),
            Some(Arc::new(tally.element()) as Arc<dyn Send>),
        ));
    }
    drop((injector, worker));
    drop(deque);
    assert_eq!(tally.dropped(), 3 * COUNT);
}

#[test]
fn words_show_themselves() {
    let words = (&raw const *"text").into_words();
    assert!(format!("{words:?}").ends_with("0x4]"));
    assert!(PointerWords::<str>::null().is_null());
}

//! fib
fn fib(n: u32) -> u64 {
    if n < 2 { return n as u64; }
    let (a, b) = pool_std::join(|| fib(n - 1), || fib(n - 2));
    a + b
}
fn rfib(n: u32) -> u64 {
    if n < 2 { return n as u64; }
    let (a, b) = rayon_core::join(|| rfib(n - 1), || rfib(n - 2));
    a + b
}
fn main() {
    let joins = 3_524_577.0;
    for threads in [1, 2] {
        let ours = pool_std::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let rayon = rayon_core::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for _ in 0..5 {
            let t = std::time::Instant::now();
            assert_eq!(ours.install(|| fib(32)), 2178309);
            let a = t.elapsed();
            let t = std::time::Instant::now();
            assert_eq!(rayon.install(|| rfib(32)), 2178309);
            let b = t.elapsed();
            println!("{threads}: ours {:.2} rayon {:.2} ns", a.as_nanos() as f64 / joins, b.as_nanos() as f64 / joins);
        }
    }
}

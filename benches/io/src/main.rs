//! The group `io`: reading through `pool_io`, and by calls that block the workers.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod pipes;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod reading;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod way;

fn main() -> std::io::Result<()> {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    let cases = protocol::thread_counts()
        .into_iter()
        .flat_map(|threads| {
            let mut cases = reading::cases(threads);
            cases.extend(pipes::cases(threads));
            cases
        })
        .collect();
    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    let cases = Vec::new();
    protocol::serve(cases)
}

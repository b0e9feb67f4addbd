//! What this machine does not have. Tests that need it return at once, and pass.

/// Returns what a lane does not test on this machine.
pub(crate) fn gaps(lane: &str) -> Vec<&'static str> {
    if lane != "host" {
        return Vec::new();
    }
    of_this_machine()
}

#[cfg(target_os = "linux")]
fn of_this_machine() -> Vec<&'static str> {
    use std::thread::available_parallelism;

    use io_uring::{IoUring, Probe, opcode};
    use rustix::thread::{MembarrierQuery, membarrier_query};

    use crate::command::Step;

    // An operation of the oldest kernel whose rings suffice.
    let has_rings = || {
        let (ring, mut probe) = (IoUring::new(1)?, Probe::new());
        ring.submitter().register_probe(&mut probe)?;
        std::io::Result::Ok(probe.is_supported(opcode::Socket::CODE))
    };
    let has_process_fence =
        membarrier_query().contains(MembarrierQuery::REGISTER_PRIVATE_EXPEDITED);
    let has_namespaces = || {
        let arguments = ["--user", "--pid", "--fork", "true"];
        Step::new("unshare", &arguments).succeeds()
    };
    [
        (
            has_rings().is_ok_and(|has_rings| has_rings),
            "rings of pool-io: the kernel refuses io_uring, or is older than 6.1",
        ),
        (
            has_process_fence,
            "biased deques: the kernel has no membarrier",
        ),
        (
            has_namespaces(),
            "a child of `fork` with its parent's number: the system refuses namespaces",
        ),
        (
            available_parallelism().is_ok_and(|count| count.get() > 1),
            "workers on several processors: there is one",
        ),
    ]
    .into_iter()
    .filter_map(|(is_here, gap)| (!is_here).then_some(gap))
    .collect()
}

#[cfg(not(target_os = "linux"))]
fn of_this_machine() -> Vec<&'static str> {
    vec!["rings of pool-io: only Linux has them"]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lane_with_such_tests_has_gaps() {
        assert_eq!(gaps("host"), of_this_machine());
        assert!(gaps("lint").is_empty());
    }
}

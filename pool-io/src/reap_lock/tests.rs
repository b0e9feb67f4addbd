#[cfg(loom)]
mod loom;

#[cfg(not(loom))]
mod steps {
    use super::super::*;

    #[test]
    fn one_holder_at_a_time() {
        let lock = ReapLock::new();
        assert!(lock.try_acquire());
        assert!(lock.release());
        assert!(lock.try_acquire());
        assert!(lock.release());
    }

    #[test]
    fn attempts_that_fail_are_remembered_once() {
        let lock = ReapLock::new();
        assert!(lock.try_acquire());
        assert!(!lock.try_acquire());
        assert!(!lock.try_acquire());
        assert!(!lock.release());
        assert!(lock.release());
    }
}

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::num::NonZeroUsize;

use orx_parallel::{Scope, ThreadPool};

/// A pool of pool-std, for the iterators of orx-parallel.
///
/// # Examples
/// ```
/// use orx_parallel::*;
/// use pool_std_orx::OnPool;
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let words = vec!["a", "few", "words"];
/// let runner = Runner::fixed_with_pool(OnPool(&pool));
/// let longest = words.par().runner(runner).map(|word| word.len()).max();
/// assert_eq!(longest, Some(5));
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct OnPool<'p>(pub &'p pool_std::ThreadPool);

/// The current pool: the one that the calling thread is a worker of, or else the global one, which
/// the first use builds.
///
/// # Examples
/// ```
/// use orx_parallel::*;
/// use pool_std_orx::GlobalPool;
///
/// let runner = Runner::fixed_with_pool(GlobalPool);
/// let even: Vec<_> = (0..10).into_par().runner(runner).filter(|n| n % 2 == 0).collect();
/// assert_eq!(even, [0, 2, 4, 6, 8]);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct GlobalPool;

/// A scope of pool-std, in which a computation runs its parts.
#[derive(Debug, Clone, Copy)]
pub struct ScopeOfPool<'s, 'scope>(&'s pool_std::Scope<'scope>);

impl<'s, 'env, 'scope> Scope<'s, 'env, 'scope> for ScopeOfPool<'s, 'scope> {
    fn run<W>(self, work: W)
    where
        'scope: 's,
        'env: 'scope + 's,
        W: FnOnce() + Send + 'scope + 'env,
    {
        self.0.spawn(move |_| work());
    }
}

impl ThreadPool for OnPool<'_> {
    type ScopeRef<'s, 'env, 'scope>
        = ScopeOfPool<'s, 'scope>
    where
        'scope: 's,
        'env: 'scope + 's;

    fn scope<'env, 'scope, F>(&'env self, f: F)
    where
        'env: 'scope,
        for<'s> F: FnOnce(ScopeOfPool<'s, 'scope>) + Send,
    {
        self.0.scope(|scope| f(ScopeOfPool(scope)));
    }

    fn max_num_threads(&self) -> NonZeroUsize {
        at_least_one(self.0.current_num_threads())
    }
}

impl ThreadPool for GlobalPool {
    type ScopeRef<'s, 'env, 'scope>
        = ScopeOfPool<'s, 'scope>
    where
        'scope: 's,
        'env: 'scope + 's;

    fn scope<'env, 'scope, F>(&'env self, f: F)
    where
        'env: 'scope,
        for<'s> F: FnOnce(ScopeOfPool<'s, 'scope>) + Send,
    {
        pool_std::scope(|scope| f(ScopeOfPool(scope)));
    }

    fn max_num_threads(&self) -> NonZeroUsize {
        at_least_one(pool_std::current_num_threads())
    }
}

fn at_least_one(num_threads: usize) -> NonZeroUsize {
    NonZeroUsize::new(num_threads).unwrap_or(NonZeroUsize::MIN)
}

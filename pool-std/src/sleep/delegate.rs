//! How the protocol of a pool calls the one that was chosen for it.

/// Implements methods by those of the protocol, whichever it is.
macro_rules! delegate {
    ($($visibility:vis fn $method:ident(&self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {$(
        #[inline]
        $visibility fn $method(&self $(, $argument: $type)*) $(-> $result)? {
            match self {
                Self::Jec(jec) => jec.$method($($argument),*),
                Self::Sockets(sockets) => sockets.$method($($argument),*),
                Self::Classic(classic) => classic.$method($($argument),*),
                Self::Hints(hints) => hints.$method($($argument),*),
                Self::Seeded(seeded) => seeded.$method($($argument),*),
            }
        }
    )*};
}

/// Calls a method with a state that the same protocol has given. With that of a protocol of another
/// kind, which only a pool that mixes its workers up brings, nothing happens: the worker searches
/// on.
macro_rules! with_idle {
    ($self:ident.$method:ident($idle:ident $(, $argument:ident)*)) => {
        match ($self, $idle) {
            (PoolSleep::Jec(jec), PoolIdle::Jec(idle)) => jec.$method(idle, $($argument),*).into(),
            (PoolSleep::Sockets(it), PoolIdle::Sockets(idle)) => it.$method(idle, $($argument),*).into(),
            (PoolSleep::Classic(it), PoolIdle::Classic(idle)) => it.$method(idle, $($argument),*).into(),
            (PoolSleep::Hints(hints), PoolIdle::Hints(idle)) => hints.$method(idle, $($argument),*).into(),
            (PoolSleep::Seeded(it), PoolIdle::Seeded(idle)) => it.$method(idle, $($argument),*).into(),
            _ => Default::default(),
        }
    };
}

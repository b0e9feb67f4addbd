//! Small programs of a few threads, and what one expects of them.

mod parse;

pub use parse::ParseError;

/// A program of a few threads, and what one expects that they can observe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Litmus {
    /// What the program shows.
    pub name: String,
    /// The names of the locations in memory.
    pub locations: Vec<String>,
    /// What each location holds at first.
    pub initial: Vec<Value>,
    /// The names of the registers. No two threads share one.
    pub registers: Vec<String>,
    /// What each thread does.
    pub threads: Vec<Vec<Statement>>,
    /// What is expected.
    pub expectations: Vec<Expectation>,
    /// Statements without which an expectation is not met, by thread and place.
    pub guards: Vec<(usize, usize)>,
}

impl Litmus {
    /// Returns the program without one of its [guards](Self::guards): a fence is left out, and an
    /// access is relaxed.
    ///
    /// # Panics
    /// If there is no guard with this number.
    #[must_use]
    pub fn without_guard(&self, number: usize) -> Self {
        let (thread, place) = self.guards[number];
        let mut weaker = self.clone();
        let statements = &mut weaker.threads[thread];
        match &mut statements[place] {
            Statement::Update(_, _, Update::CompareExchange(_, _, failure), order) => {
                (*failure, *order) = (Order::Relaxed, Order::Relaxed);
            }
            Statement::Load(_, _, order)
            | Statement::Store(_, _, order)
            | Statement::Await(_, _, order)
            | Statement::Update(_, _, _, order) => *order = Order::Relaxed,
            Statement::Fence(_) | Statement::ProcessFence | Statement::If(..) => {
                // The places of other guards do not matter any more.
                statements.remove(place);
            }
        }
        weaker.guards.clear();
        weaker
    }
}

/// What memory and registers hold.
pub type Value = i64;
/// A location, by its place in [`Litmus::locations`].
pub type Location = usize;
/// A register, by its place in [`Litmus::registers`].
pub type Register = usize;

/// The ordering of an access or a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// Not atomic. Two such accesses at the same time are a data race.
    Plain,
    /// `Relaxed`.
    Relaxed,
    /// `Acquire`.
    Acquire,
    /// `Release`.
    Release,
    /// `AcqRel`.
    AcqRel,
    /// `SeqCst`.
    SeqCst,
}

impl Order {
    /// Whether a load or a fence of this order acquires.
    #[must_use]
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether a store or a fence of this order releases.
    #[must_use]
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }
}

/// Something to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A number.
    Constant(Value),
    /// What a register holds, plus a number. It wraps around.
    Register(Register, Value),
}

/// What a read-modify-write writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// The old value plus an operand. It wraps around.
    Add(Operand),
    /// An operand.
    Swap(Operand),
    /// The second operand if the old value is the first one. Otherwise nothing, and the read has
    /// the order.
    CompareExchange(Operand, Operand, Order),
}

/// Whether a value is the one that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// It is this value.
    Is(Value),
    /// It is any other value.
    IsNot(Value),
}

impl Test {
    /// Whether a value passes.
    #[must_use]
    pub fn passes(self, value: Value) -> bool {
        match self {
            Self::Is(wanted) => value == wanted,
            Self::IsNot(unwanted) => value != unwanted,
        }
    }
}

/// A step of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// Reads a location into a register.
    Load(Register, Location, Order),
    /// Writes to a location.
    Store(Location, Operand, Order),
    /// Reads and writes a location in one step. The register gets the old value.
    Update(Register, Location, Update, Order),
    /// Reads until the value passes. If it never does, the execution does not end.
    Await(Location, Test, Order),
    /// A fence.
    Fence(Order),
    /// A fence for all threads of the process, as the system call `membarrier` makes it.
    ProcessFence,
    /// Goes one way or the other.
    If(Register, Test, Vec<Statement>, Vec<Statement>),
}

/// What must or must not be observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expectation {
    /// Some execution ends so.
    Allow(Vec<Fact>),
    /// No execution ends so.
    Forbid(Vec<Fact>),
    /// No execution has a data race.
    ForbidRaces,
    /// Some execution has a data race.
    AllowRaces,
    /// In no execution does a thread wait without end, as it does if a wake-up is lost.
    ForbidWaits,
    /// In some execution a thread waits without end.
    AllowWaits,
}

/// What is true when all threads have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// Of a register. One that was never written holds nothing, and no fact of it is true.
    Register(Register, Test),
    /// Of a location.
    Memory(Location, Test),
}

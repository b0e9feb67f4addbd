//! How a program is written down.

use std::{error::Error, fmt, str::FromStr};

use super::{Expectation, Fact, Litmus, Operand, Order, Register, Statement, Test, Update, Value};

#[cfg(test)]
mod tests;

/// Why a text is no program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl Error for ParseError {}

impl FromStr for Litmus {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser::default();
        let mut last = 0;
        for (number, line) in (1..).zip(text.lines()) {
            last = number;
            // A name may have a number of an issue in it.
            let is_name = line.trim_start().starts_with("name ");
            let comment = if is_name { None } else { line.find('#') };
            let words = &line[..comment.unwrap_or(line.len())];
            let words: Vec<_> = words.split_whitespace().collect();
            if !words.is_empty() {
                let result = parser.line(&words);
                result.map_err(|reason| ParseError {
                    line: number,
                    reason,
                })?;
            }
        }
        parser
            .end()
            .map_err(|reason| ParseError { line: last, reason })
    }
}

type Result1<T> = Result<T, String>;

#[derive(Default)]
struct Parser {
    name: String,
    locations: Vec<String>,
    initial: Vec<Value>,
    registers: Vec<String>,
    /// Which thread writes each register.
    owners: Vec<usize>,
    threads: Vec<Vec<Statement>>,
    /// Conditions that have not ended, with what came before each of them.
    open: Vec<OpenIf>,
    expectations: Vec<Expectation>,
    guards: Vec<(usize, usize)>,
}

struct OpenIf {
    register: Register,
    test: Test,
    /// The statements around it, up to here.
    around: Vec<Statement>,
    /// The first way, once the second one has begun.
    then: Option<Vec<Statement>>,
}

impl Parser {
    fn line(&mut self, words: &[&str]) -> Result1<()> {
        match words {
            ["name", name @ ..] => self.name = name.join(" "),
            ["init", values @ ..] => {
                for value in values {
                    let (location, value) = split(value)?;
                    let location = self.location(location);
                    self.initial[location] = number(value)?;
                }
            }
            ["thread"] => {
                self.expect_closed()?;
                self.threads.push(Vec::new());
            }
            ["allow", "race"] => self.expectations.push(Expectation::AllowRaces),
            ["forbid", "race"] => self.expectations.push(Expectation::ForbidRaces),
            ["allow", "wait"] => self.expectations.push(Expectation::AllowWaits),
            ["forbid", "wait"] => self.expectations.push(Expectation::ForbidWaits),
            ["allow", facts @ ..] => {
                let facts = self.facts(facts)?;
                self.expectations.push(Expectation::Allow(facts));
            }
            ["forbid", facts @ ..] => {
                let facts = self.facts(facts)?;
                self.expectations.push(Expectation::Forbid(facts));
            }
            ["if", condition] => {
                let (register, test) = self.condition(condition)?;
                let around = std::mem::take(self.statements()?);
                self.open.push(OpenIf {
                    register,
                    test,
                    around,
                    then: None,
                });
            }
            ["else"] => {
                let then = std::mem::take(self.statements()?);
                match self.open.last_mut() {
                    Some(open) if open.then.is_none() => open.then = Some(then),
                    _ => return Err("`else` without `if`".into()),
                }
            }
            ["end"] => {
                let last = std::mem::take(self.statements()?);
                let open = self.open.pop().ok_or("`end` without `if`")?;
                let (then, otherwise) = match open.then {
                    Some(then) => (then, last),
                    None => (last, Vec::new()),
                };
                let statement = Statement::If(open.register, open.test, then, otherwise);
                *self.statements()? = open.around;
                self.statements()?.push(statement);
            }
            ["needed", words @ ..] => {
                if !self.open.is_empty() {
                    return Err("`needed` is inside of an `if`".into());
                }
                let statement = self.statement(words)?;
                self.statements()?.push(statement);
                let thread = self.threads.len() - 1;
                self.guards.push((thread, self.threads[thread].len() - 1));
            }
            _ => {
                let statement = self.statement(words)?;
                self.statements()?.push(statement);
            }
        }
        Ok(())
    }

    fn statement(&mut self, words: &[&str]) -> Result1<Statement> {
        Ok(match *words {
            ["fence", order] => Statement::Fence(fence_order(order)?),
            ["process_fence"] => Statement::ProcessFence,
            ["store", location, value, order] => {
                let value = self.operand(value)?;
                Statement::Store(self.location(location), value, store_order(order)?)
            }
            ["await", location, test, order] => {
                let test = match test.strip_prefix('!') {
                    Some(value) => Test::IsNot(number(value)?),
                    None => Test::Is(number(test)?),
                };
                Statement::Await(self.location(location), test, load_order(order)?)
            }
            [register, "=", "load", location, order] => {
                let location = self.location(location);
                Statement::Load(self.written(register)?, location, load_order(order)?)
            }
            [register, "=", "add", location, value, order] => {
                let update = Update::Add(self.operand(value)?);
                self.update(register, location, update, order)?
            }
            [register, "=", "swap", location, value, order] => {
                let update = Update::Swap(self.operand(value)?);
                self.update(register, location, update, order)?
            }
            [
                register,
                "=",
                "cas",
                location,
                expected,
                new,
                order,
                failure,
            ] => {
                let (expected, new) = (self.operand(expected)?, self.operand(new)?);
                let failure = atomic(load_order(failure)?)?;
                let update = Update::CompareExchange(expected, new, failure);
                self.update(register, location, update, order)?
            }
            _ => return Err(format!("no statement: `{}`", words.join(" "))),
        })
    }

    fn update(
        &mut self,
        register: &str,
        location: &str,
        update: Update,
        order: &str,
    ) -> Result1<Statement> {
        let order = atomic(order_named(order)?)?;
        let location = self.location(location);
        Ok(Statement::Update(
            self.written(register)?,
            location,
            update,
            order,
        ))
    }

    /// Returns where the next statement goes.
    fn statements(&mut self) -> Result1<&mut Vec<Statement>> {
        let thread = self.threads.last_mut();
        thread.ok_or_else(|| "a statement before the first `thread`".into())
    }

    fn location(&mut self, name: &str) -> usize {
        let place = self.locations.iter().position(|known| known == name);
        place.unwrap_or_else(|| {
            self.locations.push(name.to_owned());
            self.initial.push(0);
            self.locations.len() - 1
        })
    }

    /// Returns a register that the current thread writes.
    fn written(&mut self, name: &str) -> Result1<Register> {
        let thread = self.threads.len();
        match self.registers.iter().position(|known| known == name) {
            Some(register) if self.owners[register] == thread => Ok(register),
            Some(_) => Err(format!("the register `{name}` is that of another thread")),
            None => {
                self.registers.push(name.to_owned());
                self.owners.push(thread);
                Ok(self.registers.len() - 1)
            }
        }
    }

    fn register(&self, name: &str) -> Result1<Register> {
        let place = self.registers.iter().position(|known| known == name);
        place.ok_or_else(|| format!("no register `{name}` was written before"))
    }

    /// Returns a register of the current thread.
    fn own(&self, name: &str) -> Result1<Register> {
        let register = self.register(name)?;
        if self.owners[register] == self.threads.len() {
            Ok(register)
        } else {
            Err(format!("the register `{name}` is that of another thread"))
        }
    }

    fn operand(&self, word: &str) -> Result1<Operand> {
        if let Ok(value) = word.parse() {
            return Ok(Operand::Constant(value));
        }
        match word.split_once('+') {
            Some((register, value)) => Ok(Operand::Register(self.own(register)?, number(value)?)),
            None => Ok(Operand::Register(self.own(word)?, 0)),
        }
    }

    fn condition(&self, word: &str) -> Result1<(Register, Test)> {
        let (register, test) = tested(word)?;
        Ok((self.own(register)?, test))
    }

    fn facts(&mut self, words: &[&str]) -> Result1<Vec<Fact>> {
        self.expect_closed()?;
        if words.is_empty() {
            return Err("what is to be true?".into());
        }
        let fact = |word: &&str| {
            let (name, test) = tested(word)?;
            let location = name
                .strip_prefix('[')
                .and_then(|name| name.strip_suffix(']'));
            Ok(match location {
                Some(name) => {
                    let known = self.locations.iter().position(|known| known == name);
                    Fact::Memory(known.ok_or(format!("no location `{name}`"))?, test)
                }
                None => Fact::Register(self.register(name)?, test),
            })
        };
        words.iter().map(fact).collect()
    }

    fn expect_closed(&self) -> Result1<()> {
        if self.open.is_empty() {
            Ok(())
        } else {
            Err("an `if` has no `end`".into())
        }
    }

    fn end(self) -> Result1<Litmus> {
        self.expect_closed()?;
        if self.threads.is_empty() {
            return Err("there is no thread".into());
        }
        if self.expectations.is_empty() {
            return Err("nothing is expected".into());
        }
        Ok(Litmus {
            name: self.name,
            locations: self.locations,
            initial: self.initial,
            registers: self.registers,
            threads: self.threads,
            expectations: self.expectations,
            guards: self.guards,
        })
    }
}

fn split(word: &str) -> Result1<(&str, &str)> {
    word.split_once('=')
        .ok_or_else(|| format!("`{word}` is not of the form NAME=NUMBER"))
}

/// Returns the name and the test in `a=1` or `a!=1`.
fn tested(word: &str) -> Result1<(&str, Test)> {
    let (name, value) = split(word)?;
    let value = number(value)?;
    Ok(match name.strip_suffix('!') {
        Some(name) => (name, Test::IsNot(value)),
        None => (name, Test::Is(value)),
    })
}

fn number(word: &str) -> Result1<Value> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}

fn order_named(word: &str) -> Result1<Order> {
    Ok(match word {
        "plain" => Order::Plain,
        "relaxed" => Order::Relaxed,
        "acquire" => Order::Acquire,
        "release" => Order::Release,
        "acqrel" => Order::AcqRel,
        "seqcst" => Order::SeqCst,
        _ => return Err(format!("`{word}` is no ordering")),
    })
}

fn atomic(order: Order) -> Result1<Order> {
    match order {
        Order::Plain => Err("an update is atomic".into()),
        order => Ok(order),
    }
}

fn load_order(word: &str) -> Result1<Order> {
    match order_named(word)? {
        Order::Release | Order::AcqRel => Err(format!("a load cannot be {word}")),
        order => Ok(order),
    }
}

fn store_order(word: &str) -> Result1<Order> {
    match order_named(word)? {
        Order::Acquire | Order::AcqRel => Err(format!("a store cannot be {word}")),
        order => Ok(order),
    }
}

fn fence_order(word: &str) -> Result1<Order> {
    match order_named(word)? {
        Order::Plain | Order::Relaxed => Err(format!("a fence cannot be {word}")),
        order => Ok(order),
    }
}

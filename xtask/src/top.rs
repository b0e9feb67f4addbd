//! `cargo xtask top`: what the workers of a program do, live, in the terminal.

mod program;
mod rows;
mod screen;
mod socket;
#[cfg(test)]
mod tests;

use std::{
    io::IsTerminal as _,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
};

use program::Answer;
use rows::Rows;
use screen::{Screen, View};
use socket::Socket;

/// In milliseconds. A moment that is much later has no place on the system's clock.
const A_DAY: u64 = 24 * 60 * 60 * 1000;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of the process [default: the only one that can be seen]
    #[arg(value_name = "PROCESS")]
    process: Option<u32>,

    /// How often to look, in milliseconds, at most a day
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=A_DAY))]
    every: u64,

    /// Look twice, print the tables of all pools, and end. So does a command whose output is no
    /// terminal
    #[arg(long)]
    once: bool,
}

/// Shows what the workers of a program do.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let socket = Socket::find(arguments.process)?;
    let every = Duration::from_millis(arguments.every);
    let first = socket.ask()?;
    if arguments.once || !std::io::stdout().is_terminal() {
        thread::sleep(every);
        let now = socket.ask()?;
        print!("{}", Rows::between(&first, &now));
        return Ok(ExitCode::SUCCESS);
    }
    let end = ratatui::run(|terminal| Viewer::new(&socket, every, first).run(terminal))?;
    if let End::Program(error) = end {
        bail!("the program does not answer any more: {error:#}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Why the view ends.
enum End {
    User,
    Program(anyhow::Error),
}

/// Asks and draws until the user or the program ends it.
struct Viewer<'s> {
    socket: &'s Socket,
    every: Duration,
    view: View,
    before: Answer,
    rows: Rows,
}

impl<'s> Viewer<'s> {
    fn new(socket: &'s Socket, every: Duration, first: Answer) -> Self {
        Self {
            socket,
            every,
            view: View::default(),
            rows: Rows::between(&first, &first),
            before: first,
        }
    }

    fn run(mut self, terminal: &mut DefaultTerminal) -> Result<End> {
        let mut next = Instant::now() + self.every;
        loop {
            terminal.draw(|frame| {
                frame.render_widget(Screen::new(&self.rows, &mut self.view), frame.area());
            })?;
            if event::poll(next.saturating_duration_since(Instant::now()))? {
                if let Event::Key(key) = event::read()?
                    && self.is_end(key)
                {
                    return Ok(End::User);
                }
                continue;
            }
            next = Instant::now() + self.every;
            if !self.view.is_paused {
                match self.socket.ask() {
                    Ok(now) => {
                        self.rows = Rows::between(&self.before, &now);
                        self.before = now;
                    }
                    Err(error) => return Ok(End::Program(error)),
                }
            }
        }
    }

    /// Does what a key says. Returns whether that is to end the view.
    fn is_end(&mut self, key: KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return false;
        }
        let is_interrupt =
            key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char(' ') => self.view.is_paused = !self.view.is_paused,
            KeyCode::Right | KeyCode::Tab => self.view.pool += 1,
            KeyCode::Left | KeyCode::BackTab => self.view.pool = self.view.pool.saturating_sub(1),
            KeyCode::Down => self.view.first_worker += 1,
            KeyCode::Up => self.view.first_worker = self.view.first_worker.saturating_sub(1),
            KeyCode::PageDown => self.view.first_worker += screen::PAGE,
            KeyCode::PageUp => {
                self.view.first_worker = self.view.first_worker.saturating_sub(screen::PAGE);
            }
            _ => {}
        }
        is_interrupt
    }
}

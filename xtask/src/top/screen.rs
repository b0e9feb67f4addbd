//! What the terminal shows.

use ratatui::{
    buffer::Buffer,
    layout::{Alignment, Constraint, Layout, Rect},
    style::{Color, Style, Stylize as _},
    text::{Line, Text},
    widgets::{Cell, Paragraph, Row, Table, Widget},
};

use super::rows::{HEADINGS, IS_NUMBER, PoolRows, Rows, WorkerRow};

/// By how many workers the table moves at a time.
pub(super) const PAGE: usize = 10;

const KEYS: &str = "q: quit   space: pause   left, right: another pool   up, down: other workers";

/// What the user has chosen to see.
#[derive(Debug, Default)]
pub(super) struct View {
    /// Which of the pools, counted from the first one.
    pub(super) pool: usize,
    /// The worker in the first row.
    pub(super) first_worker: usize,
    pub(super) is_paused: bool,
}

/// One frame.
pub(super) struct Screen<'r> {
    rows: &'r Rows,
    pool: Option<&'r PoolRows>,
    view: &'r mut View,
}

impl<'r> Screen<'r> {
    /// Brings what the user has chosen into the range of what there is.
    pub(super) fn new(rows: &'r Rows, view: &'r mut View) -> Self {
        view.pool = view.pool.min(rows.pools.len().saturating_sub(1));
        let pool = rows.pools.get(view.pool);
        let workers = pool.map_or(0, |pool| pool.workers.len());
        view.first_worker = view.first_worker.min(workers.saturating_sub(1));
        Self { rows, pool, view }
    }

    fn title(&self) -> Line<'_> {
        let Rows {
            program,
            process,
            pools,
        } = self.rows;
        let mut title = vec![
            program.as_str().bold(),
            format!(", process {process}").into(),
        ];
        if pools.len() > 1 {
            title.push(format!(", pool {} of {}", self.view.pool + 1, pools.len()).into());
        }
        if self.view.is_paused {
            title.push(", paused".yellow());
        }
        title.into()
    }

    fn table(&self, pool: &'r PoolRows) -> Table<'r> {
        let cell = |(text, is_number): (&'r str, bool)| {
            let alignment = match is_number {
                true => Alignment::Right,
                false => Alignment::Left,
            };
            Cell::new(Text::raw(text).alignment(alignment))
        };
        let headings = HEADINGS.into_iter().zip(IS_NUMBER).map(cell);
        let shown = pool.workers.iter().skip(self.view.first_worker);
        let rows = shown.map(|worker| {
            let fields = worker.fields.iter().map(String::as_str);
            let mut cells: Vec<_> = fields.zip(IS_NUMBER).map(cell).collect();
            cells[1] = Cell::new(&*worker.state).style(color(worker));
            Row::new(cells)
        });
        let widths = [6, 7, 6, 8, 8, 8, 6, 8].map(Constraint::Length);
        let widths = widths.into_iter().chain([Constraint::Fill(1)]);
        let header = Row::new(headings).style(Style::new().bold());
        Table::new(rows, widths).header(header).column_spacing(2)
    }
}

impl Widget for Screen<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let lines = [1, 1, 1].map(Constraint::Length);
        let [title, summary, _space, table, keys] = Layout::vertical([
            lines[0],
            lines[1],
            lines[2],
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .areas(area);
        self.title().render(title, buffer);
        if let Some(pool) = self.pool {
            Line::raw(&pool.summary).render(summary, buffer);
            Widget::render(self.table(pool), table, buffer);
        } else {
            Line::raw("no pool").render(summary, buffer);
        }
        Paragraph::new(KEYS.dim()).render(keys, buffer);
    }
}

/// The colors are those of timelines.
fn color(worker: &WorkerRow) -> Style {
    let color = match &*worker.state {
        "active" => Color::Blue,
        "idle" => Color::Yellow,
        "asleep" => Color::DarkGray,
        "blocked" => Color::Red,
        _ => Color::Reset,
    };
    Style::new().fg(color)
}

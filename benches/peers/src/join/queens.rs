//! The queens problem: a search with a few branches at each level, many of them short.

use protocol::Unit;

use super::{Program, written::for_all_systems};

pub(super) struct Queens;

/// Rows and columns of the board.
const N: usize = 13;
pub(super) const SOLUTIONS: u64 = 73_712;

impl Program for Queens {
    const NAME: &str = "nqueens";
    const UNIT: Unit = Unit::Milliseconds;
}

/// The queens that are placed, one in each row so far, as what they attack in the next row: a bit
/// for each column.
#[derive(Clone, Copy)]
struct Board {
    columns: u32,
    left_diagonals: u32,
    right_diagonals: u32,
}

impl Board {
    const EMPTY: Self = Self {
        columns: 0,
        left_diagonals: 0,
        right_diagonals: 0,
    };
    const ALL_COLUMNS: u32 = (1 << N) - 1;

    fn is_full(self) -> bool {
        self.columns == Self::ALL_COLUMNS
    }

    /// The places of the next row that no queen attacks.
    fn free(self) -> u32 {
        !(self.columns | self.left_diagonals | self.right_diagonals) & Self::ALL_COLUMNS
    }

    fn with(self, place: u32) -> Self {
        Self {
            columns: self.columns | place,
            left_diagonals: (self.left_diagonals | place) << 1,
            right_diagonals: (self.right_diagonals | place) >> 1,
        }
    }
}

macro_rules! functions {
    ($Context:ty, $join:ident, $own:tt) => {
        fn run(context: &mut $Context) {
            assert_eq!(solutions(context, Board::EMPTY), SOLUTIONS);
        }

        fn solutions(context: &mut $Context, board: Board) -> u64 {
            if board.is_full() {
                return 1;
            }
            let mut places = [0; N];
            let mut count = 0;
            let mut free = board.free();
            while free != 0 {
                let rest = free & (free - 1);
                places[count] = free ^ rest;
                count += 1;
                free = rest;
            }
            solutions_with_one_of(context, board, &places[..count])
        }

        fn solutions_with_one_of(context: &mut $Context, board: Board, places: &[u32]) -> u64 {
            match places {
                [] => 0,
                [place] => solutions(context, board.with(*place)),
                _ => {
                    let (left, right) = places.split_at(places.len() / 2);
                    let (left, right) = $join!(
                        $own context,
                        solutions_with_one_of(context, board, left),
                        solutions_with_one_of(context, board, right)
                    );
                    left + right
                }
            }
        }
    };
}

for_all_systems!(Queens, functions, [move]);

//! Products of matrices, whose rows are split in halves.

use crate::fork_join::ForkJoin;

/// What a small language model computes for one token: in each layer, matrices of 16-bit numbers
/// times vectors, each of which needs the one before.
pub(super) struct Token {
    layers: u32,
    hidden: Vec<i16>,
    /// The matrices of one layer; all layers have the same ones.
    matrices: Vec<Matrix>,
    /// Where the products go.
    out: Vec<i32>,
}

/// Rows of 16-bit numbers.
struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<i16>,
}

/// How many elements a hidden vector has, and a vector between the last two products of a layer.
const HIDDEN: usize = 576;
const WIDE: usize = 1536;
/// As many rows as one job multiplies at least.
const ROWS: usize = 32;

impl Token {
    pub(super) fn new() -> Self {
        let shapes = [
            (HIDDEN, HIDDEN),
            (HIDDEN / 3, HIDDEN),
            (HIDDEN / 3, HIDDEN),
            (HIDDEN, HIDDEN),
            (WIDE, HIDDEN),
            (WIDE, HIDDEN),
            (HIDDEN, WIDE),
        ];
        Self {
            layers: 10,
            hidden: numbers(WIDE),
            matrices: shapes
                .map(|(rows, columns)| Matrix::new(rows, columns))
                .into(),
            out: vec![0; WIDE],
        }
    }

    /// Computes one token; returns a number that depends on all products. Each product is a call of
    /// the pool.
    pub(super) fn next<P: ForkJoin>(&mut self, pool: &P) -> i32 {
        let mut sum = 0_i32;
        for _ in 0..self.layers {
            for matrix in &self.matrices {
                let out = &mut self.out[..matrix.rows];
                let vector = &self.hidden[..matrix.columns];
                pool.run(|context| {
                    multiply::<P>(context, matrix.columns, &matrix.values, vector, out)
                });
                sum = sum.wrapping_add(out[0]);
            }
        }
        sum
    }
}

impl Matrix {
    fn new(rows: usize, columns: usize) -> Self {
        let values = numbers(rows * columns);
        Self {
            rows,
            columns,
            values,
        }
    }
}

/// Multiplies rows by a vector.
fn multiply<P: ForkJoin>(
    context: &mut P::Context<'_>,
    columns: usize,
    rows: &[i16],
    vector: &[i16],
    out: &mut [i32],
) {
    if out.len() <= ROWS {
        for (row, out) in rows.chunks_exact(columns).zip(out) {
            let products = row.iter().zip(vector);
            *out = products.map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        }
        return;
    }
    let half = out.len() / 2;
    let (upper, lower) = rows.split_at(half * columns);
    let (upper_out, lower_out) = out.split_at_mut(half);
    P::join(
        context,
        |context| multiply::<P>(context, columns, upper, vector, upper_out),
        |context| multiply::<P>(context, columns, lower, vector, lower_out),
    );
}

/// A product of two large square matrices, in one call of the pool.
pub(super) struct Product {
    left: Vec<f32>,
    right: Vec<f32>,
    out: Vec<f32>,
}

/// As many rows and columns as each matrix has.
const SIDE: usize = 512;

impl Product {
    pub(super) fn new() -> Self {
        let matrix = || numbers(SIDE * SIDE).into_iter().map(f32::from).collect();
        Self {
            left: matrix(),
            right: matrix(),
            out: vec![0.0; SIDE * SIDE],
        }
    }

    /// Computes the product; returns one of its elements.
    pub(super) fn compute<P: ForkJoin>(&mut self, pool: &P) -> f32 {
        let Self { left, right, out } = self;
        pool.run(|context| multiply_matrices::<P>(context, left, right, out));
        out[SIDE]
    }
}

/// Multiplies rows by a matrix.
fn multiply_matrices<P: ForkJoin>(
    context: &mut P::Context<'_>,
    rows: &[f32],
    right: &[f32],
    out: &mut [f32],
) {
    if out.len() <= 4 * SIDE {
        out.fill(0.0);
        for (row, out) in rows.chunks_exact(SIDE).zip(out.chunks_exact_mut(SIDE)) {
            for (&factor, right) in row.iter().zip(right.chunks_exact(SIDE)) {
                for (out, &right) in out.iter_mut().zip(right) {
                    *out += factor * right;
                }
            }
        }
        return;
    }
    let half = out.len() / SIDE / 2 * SIDE;
    let (upper, lower) = rows.split_at(half);
    let (upper_out, lower_out) = out.split_at_mut(half);
    P::join(
        context,
        |context| multiply_matrices::<P>(context, upper, right, upper_out),
        |context| multiply_matrices::<P>(context, lower, right, lower_out),
    );
}

/// Small numbers that differ.
fn numbers(count: usize) -> Vec<i16> {
    (0..count).map(|index| (index % 13) as i16 - 6).collect()
}

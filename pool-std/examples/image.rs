//! Draws the Mandelbrot set, smooths it, and writes a PNG. Rows of the picture differ a lot in what
//! they cost, and workers that are done early take rows from the others.
//!
//! ```sh
//! cargo run --release -p pool-std --example image -- target/mandelbrot.png
//! ```

use std::{
    env,
    error::Error,
    fs::File,
    io::{BufWriter, Write as _},
    time::Instant,
};

const WIDTH: usize = 1_200;
const HEIGHT: usize = 800;
/// How often a point is followed at most.
const STEPS: u32 = 500;
/// How far a pixel's neighbors go into its average.
const RADIUS: usize = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let picture = each_row(|y| (0..WIDTH).map(|x| brightness(x, y)).collect());
    let drawn = start.elapsed();
    let smooth = each_row(|y| (0..WIDTH).map(|x| average(&picture, x, y)).collect());
    let workers = pool_std::current_num_threads();
    println!(
        "{drawn:?} to draw, {:?} in all, on {workers} workers",
        start.elapsed()
    );

    let Some(path) = env::args_os().nth(1) else {
        return Ok(());
    };
    let mut file = BufWriter::new(File::create(path)?);
    let mut encoder = png::Encoder::new(&mut file, WIDTH as u32, HEIGHT as u32);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&smooth.concat())?;
    writer.finish()?;
    Ok(file.flush()?)
}

/// Computes all rows of a picture, each in a job that borrows its place.
fn each_row(row: impl Fn(usize) -> Vec<u8> + Sync) -> Vec<Vec<u8>> {
    let mut rows = vec![Vec::new(); HEIGHT];
    pool_std::scope(|scope| {
        for (y, place) in rows.iter_mut().enumerate() {
            let row = &row;
            scope.spawn(move |_| *place = row(y));
        }
    });
    rows
}

fn brightness(x: usize, y: usize) -> u8 {
    let (cx, cy) = (
        x as f64 / WIDTH as f64 * 3.0 - 2.2,
        y as f64 / HEIGHT as f64 * 2.0 - 1.0,
    );
    let (mut zx, mut zy) = (0.0, 0.0);
    for step in 0..STEPS {
        if zx * zx + zy * zy > 4.0 {
            return (255.0 * (f64::from(step) / f64::from(STEPS)).sqrt()) as u8;
        }
        (zx, zy) = (zx * zx - zy * zy + cx, 2.0 * zx * zy + cy);
    }
    0
}

fn average(picture: &[Vec<u8>], x: usize, y: usize) -> u8 {
    let around = |center: usize, length: usize| {
        center.saturating_sub(RADIUS)..(center + RADIUS + 1).min(length)
    };
    let rows = around(y, HEIGHT).map(|y| &picture[y][around(x, WIDTH)]);
    let (sum, count) = rows.flatten().fold((0, 0), |(sum, count), &pixel| {
        (sum + u32::from(pixel), count + 1)
    });
    (sum / count) as u8
}

//! Medians and the like.

/// The value that this part of the values, from 0 to 1, does not exceed.
pub(crate) fn quantile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    values[(last as f64 * part).round() as usize]
}

//! Names for the memory of a pool.

use super::part::Part;

const LINE: usize = 64;

/// Consecutive memory that consists of equal parts.
#[derive(Debug, Clone)]
pub struct Region {
    part: Part,
    base: usize,
    size: usize,
    /// The size of one part.
    stride: usize,
    pub(super) first_line: u32,
}

impl Region {
    /// Names a slice: each element is a part.
    #[must_use]
    pub fn of_slice<T>(part: Part, slice: &[T]) -> Self {
        Self::new(
            part,
            slice.as_ptr() as usize,
            size_of_val(slice),
            size_of::<T>(),
        )
    }

    /// Names a value.
    #[must_use]
    pub fn of<T>(part: Part, value: &T) -> Self {
        let size = size_of::<T>();
        Self::new(part, core::ptr::from_ref(value) as usize, size, size)
    }

    fn new(part: Part, address: usize, size: usize, stride: usize) -> Self {
        let base = address & !(LINE - 1);
        let size = address + size - base;
        Self {
            part,
            base,
            size,
            stride: stride.max(1),
            first_line: 0,
        }
    }

    /// Returns the base, the size and the number of the first line.
    pub(super) fn bounds(&self) -> (usize, usize, u32) {
        (self.base, self.size, self.first_line)
    }

    pub(super) fn num_lines(&self) -> usize {
        self.size.div_ceil(LINE)
    }

    /// Returns the number of the line of an address, if it is in this region.
    #[inline]
    pub(super) fn line(&self, address: usize) -> Option<u32> {
        let offset = address.wrapping_sub(self.base);
        (offset < self.size).then(|| self.first_line + (offset / LINE) as u32)
    }

    pub(super) fn part(&self) -> Part {
        self.part
    }

    /// Returns the name of a line, if it is in this region.
    pub(super) fn name_of(&self, line: u32) -> Option<String> {
        let index = line.checked_sub(self.first_line)? as usize;
        if index >= self.num_lines() {
            return None;
        }
        let offset = index * LINE;
        let (element, within) = (offset / self.stride, offset % self.stride);
        let name = self.part.name();
        let is_one = self.size <= self.stride + LINE;
        Some(if is_one {
            format!("{name} +{offset}")
        } else {
            format!("{name} {element} +{within}")
        })
    }
}

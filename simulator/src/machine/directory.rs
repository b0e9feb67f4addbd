//! The cache lines of the virtual machine: which cores have a copy, and what an access costs.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    panic::Location,
};

use sleep_primitives::simulate::Access;

use super::{part::Parts, region::Region};
use crate::cost::CostModel;

const LINE_SHIFT: u32 = 6;

/// A line of the source.
pub type Site = &'static Location<'static>;

/// What happened at one line of the source, or on one cache line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Copies that had to be brought from elsewhere.
    pub transfers: u64,
    /// Of these: to be written, so that all other copies were invalidated.
    pub exclusive: u64,
    /// Picoseconds that cores waited because the line was busy with the accesses of others.
    pub waited: u64,
    /// Lines that were touched for the first time in a window, hits included.
    pub touched: u64,
}

#[derive(Debug, Default)]
struct Line {
    /// The cores that have a copy.
    sharers: Vec<u16>,
    /// The nodes of these cores, a bit each.
    nodes: u64,
    /// When the line's home has answered all requests so far.
    free_at: u64,
    /// The core that touched the line first.
    first: u16,
    /// A second core has touched the line too.
    is_shared: bool,
    is_known: bool,
    traffic: Traffic,
    /// The line of the source that touched it last without having a copy.
    site: Option<Site>,
}

/// What an access costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Price {
    /// When the core can go on, after the start of the access.
    pub(super) now: u64,
    /// When a store has left the store buffer, if that is later.
    pub(super) drained_at: u64,
    /// The line that was transferred.
    pub(super) missed: Option<u32>,
}

/// The copies of all cache lines: a directory as in a MESI protocol, whose home serves the requests
/// for a line one after the other.
#[derive(Debug)]
pub(super) struct Directory {
    costs: CostModel,
    regions: Vec<Region>,
    /// The memory of the last access: a sweep stays in one region. Base, size, and the first line.
    recent: (usize, usize, u32),
    others: HashMap<usize, u32, BuildHasherDefault<AddressHasher>>,
    free: Vec<u32>,
    lines: Vec<Line>,
    /// For each core, a bit for each line of which it has a copy.
    valid: Vec<Vec<u64>>,
    /// A bit for each line that is free of charge: see [`Settings::free`](super::Settings::free).
    is_free: Vec<u64>,
    /// A bit for each line that was touched in this window.
    touched: Vec<u64>,
    /// Shared lines that were touched in this window and are freed.
    gone: u64,
    sites: HashMap<usize, (Site, Traffic), BuildHasherDefault<AddressHasher>>,
}

impl Directory {
    pub(super) fn new(costs: CostModel, cores: usize) -> Self {
        Self {
            costs,
            regions: Vec::new(),
            recent: (0, 0, 0),
            others: HashMap::default(),
            free: Vec::new(),
            lines: Vec::new(),
            valid: vec![Vec::new(); cores],
            is_free: Vec::new(),
            touched: Vec::new(),
            gone: 0,
            sites: HashMap::default(),
        }
    }

    /// Gives the lines of some memory consecutive numbers, and a name.
    pub(super) fn add_region(&mut self, mut region: Region, free: Parts) {
        region.first_line = self.grow(region.num_lines());
        if free.contain(region.part()) {
            for line in region.first_line as usize..self.lines.len() {
                self.is_free[line / 64] |= 1 << (line % 64);
            }
        }
        self.regions.push(region);
    }

    /// Adds lines. Returns the number of the first one.
    fn grow(&mut self, count: usize) -> u32 {
        let first = self.lines.len();
        self.lines.resize_with(first + count, Line::default);
        let words = self.lines.len().div_ceil(64);
        self.touched.resize(words, 0);
        self.is_free.resize(words, 0);
        u32::try_from(first).expect("fewer lines than 2^32")
    }

    #[inline]
    fn line(&mut self, address: usize) -> u32 {
        let (base, size, first) = self.recent;
        let offset = address.wrapping_sub(base);
        if offset < size {
            return first + (offset >> LINE_SHIFT) as u32;
        }
        self.line_elsewhere(address)
    }

    #[inline(never)]
    fn line_elsewhere(&mut self, address: usize) -> u32 {
        for region in &self.regions {
            if let Some(line) = region.line(address) {
                self.recent = region.bounds();
                return line;
            }
        }
        let key = address >> LINE_SHIFT;
        if let Some(&line) = self.others.get(&key) {
            return line;
        }
        let line = self.free.pop().unwrap_or_else(|| self.grow(1));
        self.others.insert(key, line);
        line
    }

    /// Makes an access of a core, at a time. `drained_at` is when the core's earlier stores have
    /// left its store buffer.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn access(
        &mut self,
        core: u16,
        node: u8,
        access: Access,
        address: usize,
        site: Site,
        now: u64,
        drained_at: u64,
    ) -> Price {
        let line = self.line(address);
        let (word, bit) = (line as usize / 64, 1_u64 << (line % 64));
        if self.is_free[word] & bit != 0 {
            return Price {
                now: now + self.costs.hit,
                drained_at,
                missed: None,
            };
        }
        if self.touched[word] & bit == 0 {
            self.touched[word] |= bit;
            self.touch(line, core, site);
        }
        let is_valid = self.valid[usize::from(core)]
            .get(word)
            .is_some_and(|word| word & bit != 0);
        let is_hit =
            is_valid && (access == Access::Load || self.lines[line as usize].sharers.len() == 1);
        // A locked instruction waits for the store buffer.
        let (start, extra) = match access {
            Access::Exchange => (now.max(drained_at), self.costs.exchange),
            _ => (now, 0),
        };
        if is_hit {
            let now = start + self.costs.hit + extra;
            return Price {
                now,
                drained_at,
                missed: None,
            };
        }
        let end = self.miss(line, core, node, access, site, start, is_valid);
        let missed = Some(line);
        if access == Access::Store {
            // The core goes on; the store buffer waits for the line.
            return Price {
                now: start + self.costs.hit,
                drained_at: end.max(drained_at),
                missed,
            };
        }
        Price {
            now: end + self.costs.hit + extra,
            drained_at,
            missed,
        }
    }

    #[cold]
    fn touch(&mut self, line: u32, core: u16, site: Site) {
        let entry = &mut self.lines[line as usize];
        if !entry.is_known {
            entry.is_known = true;
            entry.first = core;
        } else if entry.first != core {
            entry.is_shared = true;
        }
        entry.traffic.touched += 1;
        if entry.is_shared {
            self.site(site).touched += 1;
        }
    }

    fn site(&mut self, site: Site) -> &mut Traffic {
        let key = core::ptr::from_ref(site) as usize;
        &mut self
            .sites
            .entry(key)
            .or_insert((site, Traffic::default()))
            .1
    }

    /// Transfers a line to a core. Returns when it is there.
    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn miss(
        &mut self,
        line: u32,
        core: u16,
        node: u8,
        access: Access,
        site: Site,
        now: u64,
        has_copy: bool,
    ) -> u64 {
        let costs = self.costs;
        let entry = &mut self.lines[line as usize];
        if entry.first != core {
            entry.is_shared = true;
        }
        let is_write = access != Access::Load;
        let transfer = if entry.sharers.is_empty() {
            costs.memory
        } else if is_write {
            let others = entry.sharers.len() - usize::from(has_copy);
            costs.farthest_of(entry.nodes, node)
                + costs.invalidate * (others as u64).saturating_sub(1)
        } else {
            costs.nearest_of(entry.nodes, node)
        };
        let start = now.max(entry.free_at);
        let end = start + transfer;
        entry.free_at = if is_write { end } else { start + costs.home };
        let waited = start - now;
        entry.traffic.transfers += 1;
        entry.traffic.waited += waited;
        entry.site = Some(site);
        let (word, bit) = (line as usize / 64, 1_u64 << (line % 64));
        if is_write {
            entry.traffic.exclusive += 1;
            for other in entry.sharers.drain(..) {
                if let Some(word) = self.valid[usize::from(other)].get_mut(word) {
                    *word &= !bit;
                }
            }
            entry.nodes = 0;
        }
        entry.sharers.push(core);
        entry.nodes |= 1 << node.min(63);
        let bits = &mut self.valid[usize::from(core)];
        if bits.len() <= word {
            bits.resize(word + 1, 0);
        }
        bits[word] |= bit;
        let traffic = self.site(site);
        traffic.transfers += 1;
        traffic.exclusive += u64::from(is_write);
        traffic.waited += waited;
        end
    }

    /// Forgets lines whose memory was freed. Another allocation gets fresh ones, so that a run does
    /// not depend on which addresses the allocator uses again.
    pub(super) fn forget(&mut self, address: usize, size: usize) {
        let keys = (address >> LINE_SHIFT)..=((address + size.max(1) - 1) >> LINE_SHIFT);
        for key in keys {
            let Some(line) = self.others.remove(&key) else {
                continue;
            };
            let (word, bit) = (line as usize / 64, 1_u64 << (line % 64));
            let entry = std::mem::take(&mut self.lines[line as usize]);
            for core in &entry.sharers {
                if let Some(word) = self.valid[usize::from(*core)].get_mut(word) {
                    *word &= !bit;
                }
            }
            self.gone += u64::from(entry.is_shared && self.touched[word] & bit != 0);
            self.touched[word] &= !bit;
            self.free.push(line);
        }
    }

    /// Begins a new window. Returns how many shared lines were touched in the last one.
    pub(super) fn begin_window(&mut self) -> u64 {
        let mut count = std::mem::take(&mut self.gone);
        for (index, word) in self.touched.iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                let line = index * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                count += u64::from(self.lines[line].is_shared);
            }
        }
        count
    }

    /// Forgets all traffic, and begins a new window.
    pub(super) fn reset_traffic(&mut self) {
        self.begin_window();
        self.sites.clear();
        for line in &mut self.lines {
            line.traffic = Traffic::default();
        }
    }

    /// Returns the lines of the source with their traffic.
    pub(super) fn sites(&self) -> impl Iterator<Item = (Site, Traffic)> {
        self.sites.values().copied()
    }

    /// Returns the shared lines with their names, their traffic, and the line of the source that
    /// missed them last.
    pub(super) fn shared_lines(&self) -> impl Iterator<Item = (String, Traffic, Option<Site>)> {
        let is_hot = |line: &&Line| line.is_shared && line.traffic.transfers > 0;
        self.lines
            .iter()
            .enumerate()
            .filter(move |(_, line)| is_hot(line))
            .map(|(number, line)| {
                let mut regions = self.regions.iter();
                let name = regions.find_map(|region| region.name_of(number as u32));
                let name = name.unwrap_or_else(|| String::from("a job or a frame"));
                (name, line.traffic, line.site)
            })
    }
}

/// Spreads addresses, whose low bits are much alike.
#[derive(Debug, Default)]
pub(super) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 ^= self.0 >> 32;
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

#[cfg(test)]
mod tests;

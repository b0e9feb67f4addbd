//! The memory map: addresses as they are, devices below 1 GiB, RAM above.

use aarch64_paging::{
    descriptor::El1Attributes,
    mair::{Mair, MairAttribute, NormalMemory},
};
use aarch64_rt::{InitialPagetable, initial_pagetable};

/// The size that an entry of the root table maps.
const GIGABYTE: usize = 1 << 30;

/// The meaning of the attribute indices below.
const ATTRIBUTES: Mair = Mair::EMPTY
    .with_attribute(0, MairAttribute::DEVICE_NGNRE)
    .with_attribute(
        1,
        MairAttribute::normal(
            NormalMemory::WriteBackNonTransientReadWriteAllocate,
            NormalMemory::WriteBackNonTransientReadWriteAllocate,
        ),
    );

const DEVICES: El1Attributes = El1Attributes::VALID
    .union(El1Attributes::ATTRIBUTE_INDEX_0)
    .union(El1Attributes::ACCESSED)
    .union(El1Attributes::PXN)
    .union(El1Attributes::UXN);

/// Cached, and shared by the cores: atomic operations between them need both.
const RAM: El1Attributes = El1Attributes::VALID
    .union(El1Attributes::ATTRIBUTE_INDEX_1)
    .union(El1Attributes::INNER_SHAREABLE)
    .union(El1Attributes::ACCESSED)
    .union(El1Attributes::UXN);

// Every core turns on its MMU and caches with this table before it runs any Rust.
initial_pagetable!(
    {
        let mut root = [0; 512];
        root[0] = DEVICES.bits();
        root[1] = RAM.bits() | GIGABYTE;
        InitialPagetable(root)
    },
    ATTRIBUTES.0
);

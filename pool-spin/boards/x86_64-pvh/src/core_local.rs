//! The data of each core: the pool's pointer and the core's number.
//!
//! A core finds its block through the base of its `gs` segment, which is set once when the core
//! starts. Reading a field takes one instruction. An array that the core's number indexes would
//! need the number first: from the local APIC, a slow device; from `cpuid`, which virtual machines
//! trap; or from `rdpid`, which not every processor has.

use core::{
    arch::asm,
    mem::offset_of,
    ptr,
    sync::atomic::{AtomicPtr, AtomicU32, Ordering},
};

use pool_spin::CoreLocal;
use x86_64::{VirtAddr, registers::model_specific::GsBase};

use crate::{CORES, local_apic};

/// The pool's pointer, in this core's block.
#[derive(Debug)]
pub struct GsLocal(());

// SAFETY: 1. By the contract of `init`, each core has a block of its own.
unsafe impl CoreLocal for GsLocal {
    #[inline]
    fn get() -> *const () {
        let pointer;
        // SAFETY: reads a field of this core's block. `readonly`; neither stack nor flags change.
        // Not `pure`, so it stays in order with `set`.
        unsafe {
            asm!(
                "mov {}, gs:[{}]",
                out(reg) pointer,
                const offset_of!(Block, pointer),
                options(readonly, nostack, preserves_flags),
            );
        }
        pointer
    }

    #[inline]
    unsafe fn set(pointer: *const ()) {
        // SAFETY: writes that field, which no other code uses. Neither stack nor flags change.
        unsafe {
            asm!(
                "mov gs:[{}], {}",
                const offset_of!(Block, pointer),
                in(reg) pointer,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// A core's block, aligned so that no two cores share a cache line.
#[repr(C, align(128))]
struct Block {
    pointer: AtomicPtr<()>,
    apic_id: AtomicU32,
}

static BLOCKS: [Block; CORES] = [const {
    Block {
        pointer: AtomicPtr::new(ptr::null_mut()),
        apic_id: AtomicU32::new(0),
    }
}; CORES];

/// Assigns a block to the calling core.
///
/// # Safety
/// 1. Each core calls this with a number of its own.
/// 2. It does so before it uses anything else in this module.
pub unsafe fn init(number: usize) {
    let block = &BLOCKS[number];
    // Ordering: Relaxed; only the core itself uses its block.
    block
        .apic_id
        .store(u32::from(local_apic::id()), Ordering::Relaxed);
    GsBase::write(VirtAddr::from_ptr(block));
}

/// Returns the number of the calling core, as other cores' local APICs know it.
#[inline]
pub fn apic_id() -> usize {
    let id: u64;
    // SAFETY: reads a field of this core's block, where `init` has stored it. Neither stack nor
    // flags change. Writing the lower half of a register clears the upper half.
    unsafe {
        asm!(
            "mov {:e}, gs:[{}]",
            out(reg) id,
            const offset_of!(Block, apic_id),
            options(readonly, nostack, preserves_flags),
        );
    }
    id as usize
}

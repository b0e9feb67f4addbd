//! The interrupts and exceptions, and their handlers.
//!
//! There is only ring 0, so a handler runs on the stack of the code that it interrupts. That is why
//! code for this target never uses memory below the stack pointer (it has no red zone). The
//! processor aligns the stack to 16 bytes and pushes five words.

use core::arch::naked_asm;

use pool_spin::Ipi as _;
use spin::LazyLock;
use x86_64::{
    VirtAddr, instructions::port::Port, registers::control::Cr2,
    structures::idt::InterruptDescriptorTable,
};

use crate::{
    ipi::{ApicIpi, VECTOR as IPI},
    local_apic,
};

/// The vector of the timer's interrupt.
pub const TIMER: u8 = 0x41;
/// The vector of interrupts that vanished before they were taken.
const SPURIOUS: u8 = 0xff;

/// The data ports of the two 8259 PICs, the interrupt controllers before the APIC.
const PIC_DATA_PORTS: [u16; 2] = [0x21, 0xa1];

/// The interrupt descriptor table, one for all cores.
static IDT: LazyLock<InterruptDescriptorTable> = LazyLock::new(|| {
    let mut table = InterruptDescriptorTable::new();
    // SAFETY: these handlers save what they use and return with `iretq`. None of their vectors has
    // an error code.
    unsafe {
        table[IPI].set_handler_addr(address(ipi_entry));
        table[TIMER].set_handler_addr(address(timer_entry));
        table[SPURIOUS].set_handler_addr(address(spurious_entry));
    }
    // Those that a mistake may cause. An interrupt without a handler is "segment not present".
    // SAFETY: these handlers never return, and each is for its vector.
    unsafe {
        table.divide_error.set_handler_addr(address(exception::<0>));
        table
            .invalid_opcode
            .set_handler_addr(address(exception::<6>));
        table
            .segment_not_present
            .set_handler_addr(address(exception::<11>));
        table.double_fault.set_handler_addr(address(exception::<8>));
        table
            .general_protection_fault
            .set_handler_addr(address(exception::<13>));
        table.page_fault.set_handler_addr(address(exception::<14>));
    }
    table
});

/// Masks every interrupt of the 8259 PICs: their vectors look like exceptions, and the firmware has
/// left its timer running.
pub fn mask_pics() {
    for port in PIC_DATA_PORTS {
        // SAFETY: in this state, the port is the mask register.
        unsafe { Port::new(port).write(0xff_u8) };
    }
}

/// Lets the calling core handle interrupts, once it unmasks them.
pub fn init() {
    IDT.load();
    local_apic::enable(SPURIOUS);
}

extern "sysv64" fn ipi() {
    ApicIpi::clear();
}

extern "sysv64" fn timer() {
    // The timer has counted to zero and is silent.
    program::timer_interrupt();
    local_apic::end_of_interrupt();
}

/// Defines the entry of a handler and the return from it.
///
/// # Safety
/// 1. Only the processor enters there, for a vector without an error code.
macro_rules! entry {
    ($name:ident, $handler:path) => {
        #[unsafe(naked)]
        unsafe extern "sysv64" fn $name() {
            naked_asm!(
                // Saves all registers that a function may change. These nine words and the
                // processor's five, below an aligned address, align the stack for the call.
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "push r11",
                // A function expects this flag clear; `iretq` restores it.
                "cld",
                "call {handler}",
                // Restores the registers in reverse order.
                "pop r11",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                // Returns to the interrupted code, and restores flags and stack.
                "iretq",
                handler = sym $handler,
            )
        }
    };
}

entry!(ipi_entry, ipi);
entry!(timer_entry, timer);

/// Handles a spurious interrupt. There is no end to signal: the controller does not count it.
///
/// # Safety
/// 1. Only the processor enters here, for a vector without an error code.
#[unsafe(naked)]
unsafe extern "sysv64" fn spurious_entry() {
    naked_asm!("iretq")
}

/// Enters [`report`], which does not return.
///
/// # Safety
/// 1. Only the processor enters here, for this vector.
#[unsafe(naked)]
unsafe extern "sysv64" fn exception<const VECTOR: u64>() {
    naked_asm!(
        // The first argument.
        "mov edi, {vector}",
        // The second argument: the words that the processor pushed.
        "mov rsi, rsp",
        // An error code may have changed the alignment.
        "and rsp, -16",
        // A function expects this flag clear.
        "cld",
        "call {report}",
        vector = const VECTOR,
        report = sym report,
    )
}

/// Panics with a description of an exception.
///
/// # Safety
/// 1. `pushed` points to the words that the processor pushed for this vector.
unsafe extern "sysv64" fn report(vector: u64, pushed: *const u64) -> ! {
    let has_error_code = matches!(vector, 8 | 11 | 13 | 14);
    // SAFETY: by obligation 1. The last word is the address of the instruction, or an error code,
    // which that address precedes.
    let instruction = unsafe { pushed.add(has_error_code.into()).read() };
    panic!(
        "exception {vector} at {instruction:#x}, page fault address {:#x}",
        Cr2::read_raw()
    );
}

fn address(handler: unsafe extern "sysv64" fn()) -> VirtAddr {
    VirtAddr::from_ptr(handler as *const ())
}

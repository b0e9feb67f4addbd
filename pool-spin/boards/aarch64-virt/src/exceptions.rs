//! The entry of interrupts.

use core::arch::naked_asm;

use aarch64_rt::{ExceptionHandlers, RegisterStateRef, exception_handlers};

struct Handlers;

// All exceptions except interrupts panic.
exception_handlers!(Handlers);

impl ExceptionHandlers for Handlers {
    /// Saves the vector registers around [`interrupt`].
    ///
    /// The caller, in aarch64-rt's vectors, has saved those general registers that a function may
    /// change. The interrupted code may have been using vector registers as well. So may any Rust
    /// function, if only to copy a structure.
    #[unsafe(naked)]
    extern "C" fn irq_current(_: RegisterStateRef) {
        // Changes only general registers that a function may change. The stack pointer stays a
        // multiple of 16.
        naked_asm!(
            "stp x29, x30, [sp, #-32]!", // the frame, and where to return to
            "mov x29, sp",               // begins a frame of our own
            "mrs x0, fpsr",              // the floating-point flags
            "str x0, [sp, #16]",         // behind the frame
            "sub sp, sp, #512",          // room for 32 registers of 16 bytes
            "mov x0, sp",                // and a pointer that runs through it
            "st1 {{v0.2d, v1.2d, v2.2d, v3.2d}}, [x0], #64",
            "st1 {{v4.2d, v5.2d, v6.2d, v7.2d}}, [x0], #64",
            "st1 {{v8.2d, v9.2d, v10.2d, v11.2d}}, [x0], #64",
            "st1 {{v12.2d, v13.2d, v14.2d, v15.2d}}, [x0], #64",
            "st1 {{v16.2d, v17.2d, v18.2d, v19.2d}}, [x0], #64",
            "st1 {{v20.2d, v21.2d, v22.2d, v23.2d}}, [x0], #64",
            "st1 {{v24.2d, v25.2d, v26.2d, v27.2d}}, [x0], #64",
            "st1 {{v28.2d, v29.2d, v30.2d, v31.2d}}, [x0], #64",
            "bl {interrupt}", // Rust
            "mov x0, sp",     // the same way back
            "ld1 {{v0.2d, v1.2d, v2.2d, v3.2d}}, [x0], #64",
            "ld1 {{v4.2d, v5.2d, v6.2d, v7.2d}}, [x0], #64",
            "ld1 {{v8.2d, v9.2d, v10.2d, v11.2d}}, [x0], #64",
            "ld1 {{v12.2d, v13.2d, v14.2d, v15.2d}}, [x0], #64",
            "ld1 {{v16.2d, v17.2d, v18.2d, v19.2d}}, [x0], #64",
            "ld1 {{v20.2d, v21.2d, v22.2d, v23.2d}}, [x0], #64",
            "ld1 {{v24.2d, v25.2d, v26.2d, v27.2d}}, [x0], #64",
            "ld1 {{v28.2d, v29.2d, v30.2d, v31.2d}}, [x0], #64",
            "mov sp, x29",               // the room is given back
            "ldr x0, [sp, #16]",         // the floating-point flags
            "msr fpsr, x0",              // as they were
            "ldp x29, x30, [sp], #32",   // the frame
            "ret",                       // to the vectors, which restore the rest
            interrupt = sym interrupt,
        )
    }
}

extern "C" fn interrupt() {
    crate::interrupt();
}

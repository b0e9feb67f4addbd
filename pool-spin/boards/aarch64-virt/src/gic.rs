//! The interrupt controller, a GICv3: the timer's interrupt, and one from core to core.

use core::ptr::NonNull;

use aarch64_cpu::{
    asm::barrier,
    registers::{DAIF, ReadWriteable},
};
use arm_gic::{
    IntId, InterruptGroup, UniqueMmioPointer,
    gicv3::{
        GicCpuInterface, GicV3, HIGHEST_NS_PRIORITY, SgiTarget, SgiTargetGroup,
        registers::{Gicd, GicrSgi},
    },
};
use spin::{LazyLock, Mutex};

use crate::{
    cores::{CORES, this_core},
    timer,
};

/// The interrupt from core to core.
const WAKE: IntId = IntId::sgi(0);
/// The highest priority: [`clear`] relies on it.
const WAKE_PRIORITY: u8 = HIGHEST_NS_PRIORITY;
const TIMER_PRIORITY: u8 = HIGHEST_NS_PRIORITY + 0x10;
/// Masks none of the above.
const LOWEST_PRIORITY: u8 = 0xff;

const DISTRIBUTOR: *mut Gicd = 0x0800_0000 as _;
const REDISTRIBUTORS: *mut GicrSgi = 0x080a_0000 as _;

static GIC: LazyLock<Mutex<GicV3<'static>>> = LazyLock::new(|| {
    let distributor = NonNull::new(DISTRIBUTOR).expect("an address");
    let redistributors = NonNull::new(REDISTRIBUTORS).expect("an address");
    // SAFETY: the machine has these devices there, `memory` maps them as devices, and only this
    // place makes pointers to them, once.
    let gic = unsafe { GicV3::new(UniqueMmioPointer::new(distributor), redistributors, CORES) };
    Mutex::new(gic.expect("a GICv3"))
});

/// Lets interrupts from other cores and from its timer reach the calling core, if it does not mask
/// them. The first core calls this before the others start.
pub fn set_up() {
    let core = this_core();
    let mut gic = GIC.lock();
    if core == 0 {
        gic.setup(core);
    } else {
        gic.init_cpu(core);
        GicCpuInterface::enable_group1(true);
    }
    for (interrupt, priority) in [(WAKE, WAKE_PRIORITY), (timer::INTERRUPT, TIMER_PRIORITY)] {
        gic.set_interrupt_priority(interrupt, Some(core), priority)
            .and_then(|()| gic.enable_interrupt(interrupt, Some(core), true))
            .expect("an interrupt of a core's own");
    }
    GicCpuInterface::set_priority_mask(LOWEST_PRIORITY);
    barrier::isb(barrier::SY);
}

/// Unmasks interrupts on the calling core, which must call [`handle`] for each.
pub fn unmask() {
    DAIF.modify(DAIF::I::Unmasked);
}

/// Interrupts a core, which may be the calling one.
///
/// Everything that this core wrote before is visible to that core when the interrupt is.
pub fn send(core: usize) {
    // A write to a system register is not ordered after stores to memory. The barrier completes
    // them first.
    barrier::dsb(barrier::ISHST);
    let target = SgiTarget::List {
        affinity3: 0,
        affinity2: 0,
        affinity1: 0,
        target_list: 1 << core,
    };
    GicCpuInterface::send_sgi(WAKE, target, SgiTargetGroup::CurrentGroup1)
        .expect("an interrupt that software can generate");
    // Sends now, not when the core happens to synchronize next.
    barrier::isb(barrier::SY);
}

/// Clears the interrupt from other cores on the calling core, which masks interrupts. Interrupts of
/// devices stay pending.
///
/// Later reads of this core are performed after that.
pub fn clear() {
    // This interrupt has the highest priority. So if it is pending, it is the one that is read and
    // acknowledged here. The loop ends: a core that was woken is woken again only after it was
    // about to sleep again.
    while GicCpuInterface::get_pending_interrupt(InterruptGroup::Group1) == Some(WAKE) {
        GicCpuInterface::handle_interrupt(InterruptGroup::Group1, |_| ());
    }
    // Reads of memory are not ordered after accesses to system registers. The barriers hold them
    // back.
    barrier::dsb(barrier::SY);
    barrier::isb(barrier::SY);
}

/// Serves one interrupt of the calling core. Calls `timer` for the timer, which is silent by then.
/// An interrupt from another core has done its work by ending a halt, and is only acknowledged.
pub fn handle(timer: fn()) {
    GicCpuInterface::handle_interrupt(InterruptGroup::Group1, |interrupt| match interrupt {
        // As in `clear`: later reads are performed after the acknowledgment.
        WAKE => barrier::dsb(barrier::SY),
        timer::INTERRUPT => {
            if timer::silence() {
                timer();
            }
        }
        other => panic!("unexpected interrupt {other:?}"),
    });
}

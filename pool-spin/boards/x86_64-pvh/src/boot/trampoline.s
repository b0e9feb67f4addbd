# Where the other cores start: in real mode, like an 8086, at the beginning of the page that the
# startup message names. This is copied there, so it refers to itself by offsets within the page.
#
# In AT&T's syntax, as Intel's cannot say that an operand has 32 bits where 16 are usual.

    .section .rodata.trampoline, "a"
    .code16

    .global trampoline
trampoline:
    cli                                 # no handlers yet
    movw %cs, %ax                       # the segment that begins at this page
    movw %ax, %ds                       # is also that of the next operand
    lgdtl segments_offset               # our segments
    movl %cr0, %eax                     # protection on, nothing else
    orb $1, %al
    movl %eax, %cr0
    ljmpl ${code_32}, $protected_mode   # a jump that changes the code segment

trampoline_segments:                    # as `segments_pointer`, which is out of reach here
    .short segments_end - segments - 1
    .long segments
    .set segments_offset, trampoline_segments - trampoline

    .global trampoline_end
trampoline_end:
    .code64                             # as the compiler expects

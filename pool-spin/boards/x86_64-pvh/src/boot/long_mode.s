# From 32-bit protected mode to Rust, for every core.

    .section .text.boot, "ax"
    .code32

# The loader enters here on the boot core: flat 32-bit segments, no paging, ebx is the address of
# the start information.
    .global _start
_start:
    cli                                 # no handlers yet
    mov edi, ebx                        # `core_main`'s first argument; nothing below changes edi
    lgdt [segments_pointer]             # our segments, for the jump to 64-bit code

# The other cores enter here, from the trampoline: our segments are loaded, paging is off.
protected_mode:
    mov eax, {cr4}                      # physical address extension, which long mode needs;
    mov cr4, eax                        # nothing else
    mov eax, offset page_map            # all cores share the page tables
    mov cr3, eax
    mov ecx, {efer}                     # the extended feature enable register
    rdmsr                               # edx:eax
    or eax, {efer_long_mode}            # long mode, once paging is on
    wrmsr
    mov eax, {cr0}                      # paging on, and caches, which are off after a reset
    mov cr0, eax                        # now in long mode, but still in a 32-bit segment
    ljmp {code_64}, offset long_mode    # a jump that changes the code segment

    .code64
long_mode:
    xor eax, eax                        # data segments mean nothing in 64-bit mode, but for the
    mov ds, eax                         # bases of fs and gs: all are null, also that of the
    mov es, eax                         # stack, which ring 0 allows
    mov ss, eax
    mov fs, eax
    mov gs, eax
    mov edi, edi                        # the change of mode left the upper half undefined: clear it
    mov esi, 1                          # count this core, and number it by how many came before:
    lock xadd [rip + {cores_started}], esi  # the second argument
    cmp esi, {cores}                    # a core too many?
    jae surplus                         # then there is no stack for it
    lea eax, [rsi + 1]                  # the stack grows down from where the next core's begins
    imul rax, rax, {stack_size}
    lea rsp, [rip + {stacks}]
    add rsp, rax                        # a multiple of 16, as the calling convention wants
    xor ebp, ebp                        # the end of the chain of frames
    cld                                 # also as the calling convention wants
    call {core_main}                    # does not return

surplus:
    hlt                                 # for ever: interrupts are masked
    jmp surplus                         # but for those that cannot be

# What the processor looks up while it boots and ever after: segments and pages. Constant, so no
# code fills them in. "Accessed" and "dirty" are set everywhere, so the processor never writes here.

    .section .rodata.boot_tables, "a"

    .balign 8                           # descriptors are 8 bytes
segments:
    .quad 0                             # selector 0 must not describe anything
    .quad 0x00cf9b000000ffff            # selector 8, CODE_32: code, ring 0, 32 bits, base 0, 4 GiB
    .quad 0x00af9b000000ffff            # selector 16, CODE_64: the same, but 64 bits
segments_end:

segments_pointer:                       # the operand of lgdt
    .short segments_end - segments - 1  # the last byte's offset
    .long segments                      # the address, which is below 4 GiB

# Physical addresses 0 to 4 GiB at the same virtual addresses, writable and executable, in pages of
# 2 MiB, which every processor with 64 bits has. 0x23: present, writable, accessed.

    .balign 4096                        # tables are pages
page_map:                               # level 4: 512 GiB an entry
    .quad page_directory_pointers + 0x23
    .fill 511, 8, 0                     # nothing else is mapped

page_directory_pointers:                # level 3: 1 GiB an entry
    .quad page_directories + 0x0023
    .quad page_directories + 0x1023
    .quad page_directories + 0x2023
    .quad page_directories + 0x3023
    .fill 508, 8, 0                     # nothing above 4 GiB

page_directories:                       # level 2: 2 MiB an entry
    .set page, 0
    .rept 3 * 512                       # 3 GiB of memory. 0xe3: as above, and a dirty page of 2 MiB
    .quad page + 0xe3
    .set page, page + 0x200000
    .endr
    .rept 512                           # 1 GiB of devices. 0xfb: as above, not cached
    .quad page + 0xfb
    .set page, page + 0x200000
    .endr

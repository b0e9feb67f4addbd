/* The programs of the group `join`, as in Rust. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "lace.h"

/* Makes what the programs read. */
void lace_prepare(void);

/* By the numbers that `join.rs` names. */
extern uint64_t (*const lace_programs[])(Worker *, Task *head);

#endif

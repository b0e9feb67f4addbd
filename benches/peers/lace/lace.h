/* Work stealing with split deques, after
 *   T. van Dijk and J. C. van de Pol, "Lace: non-blocking split deque for work-stealing", 2014.
 * Written from the paper, to measure what its joins cost in C. It is no library: threads spin while
 * a program runs, a deque has room for a fixed number of tasks, and a task cannot panic.
 *
 * Of a worker's tasks, those before `split` are public and may be stolen; the others are the
 * owner's without any atomic operation. A thief that finds no public task asks for some by
 * `move_split`, which the owner reads in each spawn and each sync.
 */
#ifndef LACE_H
#define LACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

typedef struct Worker Worker;
typedef struct Task Task;

/* What a task is given, and then its result. */
#define TASK_WORDS 6

struct Task {
    void (*run)(Worker *, Task *next, Task *self);
    /* NOT_STOLEN, the thief, or DONE. */
    _Atomic(Worker *) thief;
    uint64_t words[TASK_WORDS];
} __attribute__((aligned(64)));

#define NOT_STOLEN ((Worker *)1)
#define DONE ((Worker *)2)

/* The oldest public task, and the first private one. Thieves exchange both, the owner writes the
 * second one alone. */
typedef union {
    _Atomic uint64_t both;
    struct {
        _Atomic uint32_t tail;
        _Atomic uint32_t split;
    };
} Ends;

struct Worker {
    Ends ends __attribute__((aligned(128)));
    _Atomic bool all_stolen;
    _Atomic bool move_split __attribute__((aligned(64)));
    /* The owner's own copies. */
    Task *split __attribute__((aligned(128)));
    bool knows_all_stolen;
    Task *tasks;
    uint64_t random;
};

/* Cold paths. */
void lace_publish_first(Worker *worker, Task *task);
void lace_move_split(Worker *worker, Task *end);
bool lace_sync_slowly(Worker *worker, Task *task);

/* Makes the task at the head available. The head is the next one then. */
static inline void lace_spawn(Worker *worker, Task *task) {
    atomic_store_explicit(&task->thief, NOT_STOLEN, memory_order_release);
    if (UNLIKELY(worker->knows_all_stolen)) {
        lace_publish_first(worker, task);
    } else if (UNLIKELY(atomic_load_explicit(&worker->move_split, memory_order_relaxed))) {
        lace_move_split(worker, task + 1);
    }
}

/* Takes back the newest task, and returns true; or waits until its thief has done it. */
static inline bool lace_sync(Worker *worker, Task *task) {
    if (LIKELY(!atomic_load_explicit(&worker->move_split, memory_order_relaxed))
        && LIKELY(worker->split <= task)) {
        return true;
    }
    return lace_sync_slowly(worker, task);
}

#endif

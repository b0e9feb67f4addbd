/* The workers: see lace.h. */

#define _GNU_SOURCE
#include "lace.h"
#include "programs.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define TASKS (1u << 16)
#define MOST_WORKERS 64

static Worker *workers[MOST_WORKERS];
static unsigned worker_count;
static _Atomic bool is_over;
static _Atomic unsigned arrived;

static uint32_t index_of(const Worker *worker, const Task *task) {
    return (uint32_t)(task - worker->tasks);
}

/* Makes the first task after all others were stolen public at once. */
void lace_publish_first(Worker *worker, Task *task) {
    uint64_t tail = index_of(worker, task);
    atomic_store_explicit(&worker->move_split, false, memory_order_relaxed);
    /* On a little-endian machine the tail is the lower half. */
    atomic_store_explicit(&worker->ends.both, tail | (tail + 1) << 32, memory_order_release);
    worker->split = task + 1;
    worker->knows_all_stolen = false;
    atomic_store_explicit(&worker->all_stolen, false, memory_order_release);
}

/* Makes half of the private tasks before `end` public. */
void lace_move_split(Worker *worker, Task *end) {
    worker->split += (end - worker->split + 1) / 2;
    uint32_t split = index_of(worker, worker->split);
    atomic_store_explicit(&worker->ends.split, split, memory_order_release);
    atomic_store_explicit(&worker->move_split, false, memory_order_relaxed);
}

/* Makes half of the public tasks private. Returns false if there is none any more. */
static bool shrink_public_part(Worker *worker) {
    uint32_t tail = atomic_load_explicit(&worker->ends.tail, memory_order_relaxed);
    uint32_t split = atomic_load_explicit(&worker->ends.split, memory_order_relaxed);
    if (tail != split) {
        uint32_t middle = (tail + split) / 2;
        atomic_store_explicit(&worker->ends.split, middle, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
        tail = atomic_load_explicit(&worker->ends.tail, memory_order_relaxed);
        if (tail != split) {
            if (tail > middle) {
                middle = (tail + split) / 2;
                atomic_store_explicit(&worker->ends.split, middle, memory_order_relaxed);
            }
            worker->split = worker->tasks + middle;
            return true;
        }
    }
    return false;
}

static void note_all_stolen(Worker *worker) {
    atomic_store_explicit(&worker->all_stolen, true, memory_order_relaxed);
    worker->knows_all_stolen = true;
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Steals the oldest public task of a worker and runs it, with room from `next` on. */
static bool steal_from(Worker *thief, Task *next, Worker *victim) {
    if (atomic_load_explicit(&victim->all_stolen, memory_order_acquire)) {
        return false;
    }
    uint64_t ends = atomic_load_explicit(&victim->ends.both, memory_order_acquire);
    uint32_t tail = (uint32_t)ends;
    if (tail >= (uint32_t)(ends >> 32)) {
        if (!atomic_load_explicit(&victim->move_split, memory_order_relaxed)) {
            atomic_store_explicit(&victim->move_split, true, memory_order_relaxed);
        }
        return false;
    }
    if (!atomic_compare_exchange_strong(&victim->ends.both, &ends, ends + 1)) {
        return false;
    }
    Task *task = victim->tasks + tail;
    atomic_store_explicit(&task->thief, thief, memory_order_relaxed);
    task->run(thief, next, task);
    atomic_store_explicit(&task->thief, DONE, memory_order_release);
    return true;
}

static void steal_from_any(Worker *thief, Task *next) {
    thief->random ^= thief->random << 13;
    thief->random ^= thief->random >> 7;
    thief->random ^= thief->random << 17;
    Worker *victim = workers[thief->random % worker_count];
    if (victim == thief || !steal_from(thief, next, victim)) {
        relax();
    }
}

/* Waits for a stolen task, and meanwhile helps its thief. */
static void wait_for(Worker *worker, Task *task) {
    Worker *thief;
    while ((thief = atomic_load_explicit(&task->thief, memory_order_acquire)) == NOT_STOLEN) {
        relax();
    }
    for (unsigned attempt = 1; thief != DONE; attempt++) {
        if (attempt % 32 == 0) {
            steal_from_any(worker, task + 1);
        } else if (!steal_from(worker, task + 1, thief)) {
            relax();
        }
        thief = atomic_load_explicit(&task->thief, memory_order_acquire);
    }
}

bool lace_sync_slowly(Worker *worker, Task *task) {
    bool is_public = worker->knows_all_stolen || worker->split > task;
    if (is_public && (worker->knows_all_stolen || !shrink_public_part(worker))) {
        note_all_stolen(worker);
        wait_for(worker, task);
        note_all_stolen(worker);
        return false;
    }
    if (atomic_load_explicit(&worker->move_split, memory_order_relaxed)) {
        lace_move_split(worker, task);
    }
    return true;
}

static void *help(void *argument) {
    Worker *worker = argument;
    atomic_fetch_add(&arrived, 1);
    while (!atomic_load_explicit(&is_over, memory_order_acquire)) {
        steal_from_any(worker, worker->tasks);
    }
    return NULL;
}

static Worker *create_worker(unsigned number) {
    Worker *worker = aligned_alloc(128, sizeof(Worker));
    *worker = (Worker){.random = 0x9e3779b97f4a7c15u + number};
    worker->tasks = mmap(NULL, TASKS * sizeof(Task), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    worker->split = worker->tasks;
    note_all_stolen(worker);
    return worker;
}

/* Runs a program on so many threads, this one included. Returns its result, and writes how many
 * seconds it took, without the start and the end of the threads. Returns 0 if there are too many. */
uint64_t lace_run(uint32_t threads, uint32_t program, double *seconds) {
    pthread_t helpers[MOST_WORKERS];
    if (threads == 0 || threads > MOST_WORKERS) {
        return 0;
    }
    worker_count = threads;
    atomic_store(&is_over, false);
    atomic_store(&arrived, 0);
    for (unsigned number = 0; number < threads; number++) {
        workers[number] = create_worker(number);
    }
    for (unsigned number = 1; number < threads; number++) {
        if (pthread_create(&helpers[number], NULL, help, workers[number]) != 0) {
            abort();
        }
    }
    while (atomic_load(&arrived) + 1 < threads) {
        relax();
    }
    lace_prepare();
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    uint64_t result = lace_programs[program](workers[0], workers[0]->tasks);
    clock_gettime(CLOCK_MONOTONIC, &end);
    atomic_store(&is_over, true);
    for (unsigned number = 1; number < threads; number++) {
        pthread_join(helpers[number], NULL);
    }
    for (unsigned number = 0; number < threads; number++) {
        munmap(workers[number]->tasks, TASKS * sizeof(Task));
        free(workers[number]);
    }
    *seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    return result;
}

/* The programs of the group `join`, see the Rust sources of the same names. */

#include "programs.h"

#include <stdlib.h>

/* fib */

static uint64_t fib(Worker *worker, Task *head, uint64_t n);

static void run_fib(Worker *worker, Task *next, Task *self) {
    self->words[0] = fib(worker, next, self->words[0]);
}

static uint64_t fib(Worker *worker, Task *head, uint64_t n) {
    if (n < 2) {
        return n;
    }
    head->run = run_fib;
    head->words[0] = n - 2;
    lace_spawn(worker, head);
    uint64_t first = fib(worker, head + 1, n - 1);
    uint64_t second
        = lace_sync(worker, head) ? fib(worker, head, head->words[0]) : head->words[0];
    return first + second;
}

static uint64_t fib32(Worker *worker, Task *head) { return fib(worker, head, 32); }

/* tree-sum */

typedef struct Node {
    struct Node *children[2];
    uint64_t value;
} Node;

static Node *tree(unsigned levels) {
    Node *node = calloc(1, sizeof(Node));
    node->value = 1;
    for (unsigned child = 0; levels > 1 && child < 2; child++) {
        node->children[child] = tree(levels - 1);
    }
    return node;
}

static uint64_t sum(Worker *worker, Task *head, const Node *node);

static void run_sum(Worker *worker, Task *next, Task *self) {
    self->words[0] = sum(worker, next, (const Node *)(uintptr_t)self->words[0]);
}

static uint64_t sum(Worker *worker, Task *head, const Node *node) {
    if (node->children[0] == NULL) {
        return node->value;
    }
    head->run = run_sum;
    head->words[0] = (uintptr_t)node->children[1];
    lace_spawn(worker, head);
    uint64_t left = sum(worker, head + 1, node->children[0]);
    uint64_t right = lace_sync(worker, head)
        ? sum(worker, head, (const Node *)(uintptr_t)head->words[0])
        : head->words[0];
    return node->value + left + right;
}

static Node *root;

void lace_prepare(void) {
    enum { LEVELS = 15 };
    if (root == NULL) {
        root = tree(LEVELS);
    }
}

static uint64_t tree_sum(Worker *worker, Task *head) {
    enum { SUMS = 128 };
    uint64_t sums = 0;
    for (unsigned count = 0; count < SUMS; count++) {
        sums += sum(worker, head, root);
    }
    return sums / SUMS;
}

/* uts */

enum { CHILDREN_OF_ROOT = 10000, CHILDREN = 8 };

static uint64_t splitmix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t nodes_below(Worker *worker, Task *head, uint64_t parent, uint64_t start,
                            uint64_t end);

static void run_nodes_below(Worker *worker, Task *next, Task *self) {
    uint64_t *words = self->words;
    words[0] = nodes_below(worker, next, words[0], words[1], words[2]);
}

static uint64_t nodes(Worker *worker, Task *head, uint64_t node) {
    const uint64_t fertile = (uint64_t)(0.124 * 18446744073709551615.0);
    return node < fertile ? 1 + nodes_below(worker, head, node, 0, CHILDREN) : 1;
}

static uint64_t nodes_below(Worker *worker, Task *head, uint64_t parent, uint64_t start,
                            uint64_t end) {
    if (end - start == 1) {
        return nodes(worker, head, splitmix64(parent + start));
    }
    uint64_t middle = start + (end - start) / 2;
    head->run = run_nodes_below;
    head->words[0] = parent;
    head->words[1] = middle;
    head->words[2] = end;
    lace_spawn(worker, head);
    uint64_t left = nodes_below(worker, head + 1, parent, start, middle);
    uint64_t right = lace_sync(worker, head)
        ? nodes_below(worker, head, head->words[0], head->words[1], head->words[2])
        : head->words[0];
    return left + right;
}

static uint64_t uts(Worker *worker, Task *head) {
    return 1 + nodes_below(worker, head, 25000000175u, 0, CHILDREN_OF_ROOT);
}

/* nqueens */

enum { N = 13, ALL_COLUMNS = (1 << N) - 1 };

typedef struct {
    uint32_t columns, left_diagonals, right_diagonals;
} Board;

static uint64_t solutions_with_one_of(Worker *worker, Task *head, const Board *board,
                                      const uint32_t *places, uint64_t count);

static void run_solutions(Worker *worker, Task *next, Task *self) {
    uint64_t *words = self->words;
    words[0] = solutions_with_one_of(worker, next, (const Board *)(uintptr_t)words[0],
                                     (const uint32_t *)(uintptr_t)words[1], words[2]);
}

static uint64_t solutions(Worker *worker, Task *head, Board board) {
    if (board.columns == ALL_COLUMNS) {
        return 1;
    }
    uint32_t places[N];
    uint64_t count = 0;
    uint32_t taken = board.columns | board.left_diagonals | board.right_diagonals;
    for (uint32_t left = ~taken & ALL_COLUMNS; left != 0; left &= left - 1) {
        places[count++] = left & -left;
    }
    return solutions_with_one_of(worker, head, &board, places, count);
}

static uint64_t solutions_with_one_of(Worker *worker, Task *head, const Board *board,
                                      const uint32_t *places, uint64_t count) {
    if (count == 0) {
        return 0;
    }
    if (count == 1) {
        uint32_t place = places[0];
        Board next = {
            board->columns | place,
            (board->left_diagonals | place) << 1,
            (board->right_diagonals | place) >> 1,
        };
        return solutions(worker, head, next);
    }
    uint64_t half = count / 2;
    head->run = run_solutions;
    head->words[0] = (uintptr_t)board;
    head->words[1] = (uintptr_t)(places + half);
    head->words[2] = count - half;
    lace_spawn(worker, head);
    uint64_t left = solutions_with_one_of(worker, head + 1, board, places, half);
    uint64_t right = lace_sync(worker, head)
        ? solutions_with_one_of(worker, head, (const Board *)(uintptr_t)head->words[0],
                                (const uint32_t *)(uintptr_t)head->words[1], head->words[2])
        : head->words[0];
    return left + right;
}

static uint64_t nqueens(Worker *worker, Task *head) {
    return solutions(worker, head, (Board){0});
}

uint64_t (*const lace_programs[])(Worker *, Task *) = {fib32, tree_sum, uts, nqueens};

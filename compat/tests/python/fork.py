"""Uses a library of rayon's in a process and in the children that it forks.

Arguments: the library, and the time limit in seconds. Exits with 0 if all answer, and with 3 if a
child does not within the limit.
"""

import ctypes
import multiprocessing
import sys

END = 100_000
CALLS = 40


def sum_of_squares(_call=None):
    return LIBRARY.sum_of_squares(ctypes.c_uint64(END))


def main():
    expected = sum(number * number for number in range(END))
    # From here on the process has a pool, whose threads a child does not have.
    assert sum_of_squares() == expected
    context = multiprocessing.get_context("fork")
    children = context.Pool(4)
    try:
        answers = children.map_async(sum_of_squares, range(CALLS)).get(LIMIT_IN_SECONDS)
    except multiprocessing.TimeoutError:
        return 3
    finally:
        children.terminate()
    assert answers == [expected] * CALLS
    # The process has lost nothing.
    assert sum_of_squares() == expected
    return 0


if __name__ == "__main__":
    LIBRARY = ctypes.CDLL(sys.argv[1])
    LIMIT_IN_SECONDS = float(sys.argv[2])
    LIBRARY.sum_of_squares.restype = ctypes.c_uint64
    sys.exit(main())

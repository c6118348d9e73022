"""Write the stored answers anew: ``write_problem_values.py [FIRST LAST]``, by default what is missing.

Answers are stored as the current code finds them, so this is for new kinds of problems alone: those that are on record
are left as they are.
"""

import sys

from problem_values import FILE, store, stored, unique

TOTAL = 10_000


def main():
    first, last = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (0, TOTAL)
    records = stored() if FILE.exists() else {}
    for seed in range(first, last):
        if seed not in records:
            records[seed] = unique(seed)
    store(records)


if __name__ == "__main__":
    main()

"""Similarity of meaning for the server and the command line, if the extra `semantic` is installed.
Hooks import nothing from this package. If the extra is not installed, recall does without it.
"""

import os

# With several threads, products of small matrices are slower, up to a hundred times on a busy
# machine. OpenBLAS reads this variable when numpy is loaded, and only this package loads numpy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

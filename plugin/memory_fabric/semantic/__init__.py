"""Similarity of meaning, for the server and the command line, if the extra `semantic` is installed.
Without the extra, recall does not use similarity. Hooks never import this package.
"""

import os

# Use one thread: with several, products of small matrices are slower, on a busy machine up to a
# hundred times. OpenBLAS reads this variable when numpy is loaded, which only this package does.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

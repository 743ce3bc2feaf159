"""Similarity of meaning, for the server and the command line, if the extra `semantic` is installed.

Hooks import nothing from this package. Without the extra, recall works as if it did not exist.
"""

import os

# Products of small matrices are slower with several threads, up to a hundred times on a busy
# machine. numpy's library reads this variable when it is loaded, and only this package loads it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

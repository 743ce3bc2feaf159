"""Nearness of meaning for the warm path (server, command line), where the extra is installed.

Nothing here is imported by hooks. Without the extra, recall is unchanged.
"""

import os

# Products of small matrices are slower in several threads, a hundred times so on a machine that is
# busy. numpy's library reads the variable when it is loaded, which only modules of this package do.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

"""`python -m memory_fabric.cli`: the command line without an installed script."""

import sys

from memory_fabric.cli.main import main

sys.exit(main())

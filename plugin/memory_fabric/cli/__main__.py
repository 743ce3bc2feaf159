"""Run the command line as `python -m memory_fabric.cli`, without an installed script."""

import sys

from memory_fabric.cli.main import main

sys.exit(main())

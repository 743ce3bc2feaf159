"""Entry point of `python -m memory_fabric.cli`, which works without an installed script."""

import sys

from memory_fabric.cli.main import main

sys.exit(main())

"""Entry point of `python -m memory_fabric.cli`, for use without the installed script."""

import sys

from memory_fabric.cli.main import main

sys.exit(main())

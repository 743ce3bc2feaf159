"""Open pages in the user's browser."""

import os
import sys

from memory_fabric.config import has_display


def can_open() -> bool:
    """Return True if standard output is a terminal with a display."""
    return sys.stdout.isatty() and has_display(os.environ, sys.platform)


def open_page(address: str) -> bool:
    """Open the address in a browser; return False if there is no browser."""
    import webbrowser  # only where one is opened

    return webbrowser.open(address)

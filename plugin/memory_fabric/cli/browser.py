"""A page in the person's browser, where somebody could see it."""

from __future__ import annotations

import os
import sys

from memory_fabric.config import has_display


def can_open() -> bool:
    """Whether a person sits at this terminal and has a screen."""
    return sys.stdout.isatty() and has_display(os.environ, sys.platform)


def open_page(address: str) -> bool:
    """Whether a browser was told to show the page at this address."""
    import webbrowser  # only where one is opened

    return webbrowser.open(address)

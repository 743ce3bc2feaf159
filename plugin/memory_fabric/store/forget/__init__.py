"""Forgetting memories, and erasing (purging) them from every file."""

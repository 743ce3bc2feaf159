"""Forgetting memories, and purging them from every file."""

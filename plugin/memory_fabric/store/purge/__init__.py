"""Erasing a memory from every byte that is ours."""

"""Memories of other programs: recognise, read, choose, store, and follow instruction files."""

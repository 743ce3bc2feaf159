"""The reference server's file: read, written, imported, and mirrored while it is served."""

"""The reference server's file: reading, writing, importing, and mirroring it while it is served."""

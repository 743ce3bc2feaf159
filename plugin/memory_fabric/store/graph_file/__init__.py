"""The reference server's file: read, write, import, and mirror it while it is served."""

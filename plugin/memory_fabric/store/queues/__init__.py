"""Work that waits in this home: texts of other programs, and sessions to be forwarded."""

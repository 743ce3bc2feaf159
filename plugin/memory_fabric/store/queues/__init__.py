"""Queues in this home: texts of other programs, unfinished events, and sessions to be forwarded."""

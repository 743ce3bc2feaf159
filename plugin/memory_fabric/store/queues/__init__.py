"""Queues in this home: texts of other programs, unfinished events, sessions to be forwarded."""

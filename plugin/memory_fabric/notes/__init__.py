"""Notes: lines in which the assistant says what later sessions must know."""

"""The work table: recall (parse to rank) and remembering (capture, extract), without a clock."""

"""Health checks and repairs of `doctor`, its self-test in a sandbox, and the states of storage."""

"""Health checks, repairs and sandboxed self-test of `doctor`, and the states of storage tiers."""

"""The health of memory: the state of its tiers, and the checks, repairs and proof of `doctor`."""

"""The health of the memory: its tiers' states, and the checks, repairs and proof of `doctor`."""

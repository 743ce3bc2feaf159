"""Health: the state of the three tiers, the checks and repairs of `doctor`, and its proof."""

"""Health: the state of the three tiers, the checks of `doctor` and their repairs, and its proof."""

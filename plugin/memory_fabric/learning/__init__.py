"""Reading in the past sessions that clients still have: plan, run, undo, condensed sessions."""

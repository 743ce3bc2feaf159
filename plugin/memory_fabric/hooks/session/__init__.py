"""State that the handlers share: the injection ledger, transcript offsets, and checkpoints."""

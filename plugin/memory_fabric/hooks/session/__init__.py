"""State of a session that the handlers share: injection ledger, transcript offsets, checkpoints."""

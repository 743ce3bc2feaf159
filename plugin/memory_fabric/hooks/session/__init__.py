"""The state of a session, shared by handlers: injection ledger, transcript offsets, checkpoints."""

"""What the hooks' handlers share: the ledger, the transcript, the session's record."""

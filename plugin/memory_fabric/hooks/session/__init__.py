"""State that the handlers share: injection ledger, transcript position, checkpoint."""

"""Sessions, the user's prompts, and texts that were shown to sessions."""

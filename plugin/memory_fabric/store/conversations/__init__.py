"""Sessions, prompts as typed, and texts that sessions were shown."""

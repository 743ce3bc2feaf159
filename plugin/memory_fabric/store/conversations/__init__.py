"""Sessions, prompts as typed, and what sessions were told."""

"""Commands that look after the stored data."""

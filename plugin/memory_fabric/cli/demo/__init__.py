"""The demonstration: two sessions in a sandbox."""

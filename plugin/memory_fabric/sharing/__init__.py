"""Sharing of memory: through git, and through a shared log of a team or of one user's machines."""

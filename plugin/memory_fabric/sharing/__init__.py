"""Sharing of memory: through git, or through a log shared by a team or by one user's machines."""

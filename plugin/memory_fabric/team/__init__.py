"""Exchange with a shared log in PostgreSQL: connection, synchronisation, keys."""

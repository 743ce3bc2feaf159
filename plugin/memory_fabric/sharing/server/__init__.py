"""The shared log in PostgreSQL: its schema, rights, and queries."""

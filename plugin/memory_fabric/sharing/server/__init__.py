"""The shared log in PostgreSQL: its schema, its access rights, and its queries."""

"""The shared log in PostgreSQL: its schema, access rights and queries."""

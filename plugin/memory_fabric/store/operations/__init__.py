"""What each kind of operation does to a database, and what takes it back."""

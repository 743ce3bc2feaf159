"""Made transcripts of past sessions, in the form of each client."""

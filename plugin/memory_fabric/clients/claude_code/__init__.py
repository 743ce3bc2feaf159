"""Claude Code: its transcripts, settings and hooks."""

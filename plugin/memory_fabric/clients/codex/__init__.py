"""Codex CLI: its patches and transcripts."""

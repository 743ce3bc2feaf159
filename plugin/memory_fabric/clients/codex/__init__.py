"""Codex CLI: its transcripts."""

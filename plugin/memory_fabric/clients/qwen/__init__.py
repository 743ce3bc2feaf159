"""Qwen Code: its transcripts."""

"""Stages that only questions go through, not prompts."""

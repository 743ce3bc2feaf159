"""Sharing by git: real repositories, real hooks, several people."""

"""The steps of `histories.py`: hooks run over recorded conversations, and what they told."""

"""Tests of the cellar: databases, tiers, projects, with real files and real processes."""

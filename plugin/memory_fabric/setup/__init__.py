"""The plugin's own packages: installed, found, kept up to date."""

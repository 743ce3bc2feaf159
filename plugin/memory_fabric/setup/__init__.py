"""Installation of the packages that the plugin needs, and the search for installed ones."""

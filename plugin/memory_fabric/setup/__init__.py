"""Code that finds and installs the packages that the plugin needs."""

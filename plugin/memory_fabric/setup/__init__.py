"""Code that finds and installs the Python packages that the plugin needs."""

"""Installing the packages that the plugin needs, and finding them."""

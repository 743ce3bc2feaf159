"""Installation and discovery of the packages that the plugin needs."""

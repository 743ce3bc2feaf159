"""Who answers when an event calls; one module a thing the house does."""

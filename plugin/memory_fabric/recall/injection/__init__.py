"""Selection of what hooks give to the model unasked."""

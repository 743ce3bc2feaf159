"""How likely a sentence is worth keeping: what is seen in it, and what each sign weighs."""

"""Domains: views of one domain, and the guard of its writes."""

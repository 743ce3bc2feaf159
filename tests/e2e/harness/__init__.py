"""Drives the real Claude Code client, headless, against a scripted loopback Messages API.

No network, no account, no cost. `Home` is a person's empty machine, `Script` what the model will
say, `Result` what the client did: which text reached the model, which hooks ran, what was shown.
"""

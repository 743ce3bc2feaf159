"""Handlers of the hook events: `handle` of a module, or functions of a shared one."""

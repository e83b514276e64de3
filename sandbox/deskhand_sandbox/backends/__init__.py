"""Backends: one folder or module per kind of sandbox, found through the registry."""

"""Verifiers: score what was done in a sandbox, from the outside."""

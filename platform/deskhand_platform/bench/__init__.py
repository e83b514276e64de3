"""Measurements: `deskhand bench NAME`."""

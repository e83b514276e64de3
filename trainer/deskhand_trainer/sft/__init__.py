"""Warm start: perception first, then demonstrations."""

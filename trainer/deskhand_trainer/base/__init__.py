"""The base model: a small policy that can see, read and point before it has met a task."""

HEADS_FILE = "perception.safetensors"
"""Beside a base model's weights, for a later pretraining of it."""

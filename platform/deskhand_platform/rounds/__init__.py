"""Rounds: collect, score, curate, train, evaluate, promote — as durable workflows around run processes."""

DEFAULT = "unseen-tasks"
"""The preset of a round when nobody says otherwise, `make run` among it."""

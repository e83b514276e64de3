"""Rounds: collect, score, curate, train, evaluate, promote — as durable workflows around run processes."""

"""Computers an agent can work at: types, backends, manager. Imports no extra."""

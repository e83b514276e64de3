"""Alarms: what a person should look at, raised, acknowledged and cleared."""

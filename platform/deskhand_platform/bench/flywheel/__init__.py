"""How fast the flywheel keeps and finds what happened, and whether it ever loses any of it."""

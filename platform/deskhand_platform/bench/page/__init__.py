"""The page measured in a real browser: how soon it shows something, its scripts, and whom it shuts out."""

"""How fast sandboxes are, beside their peers, and whether they leave anything behind."""

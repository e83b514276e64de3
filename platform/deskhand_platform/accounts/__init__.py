"""Who may come in, what they may do, how much of it, and what they did."""

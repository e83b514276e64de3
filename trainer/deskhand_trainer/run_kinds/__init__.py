"""What each kind of run does, one module per kind."""

"""Other ways into the same sandboxes."""

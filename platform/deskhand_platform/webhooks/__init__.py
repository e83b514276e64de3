"""Results of tasks sent to where somebody waits for them, signed, until they have arrived."""

"""Results of tasks, and alarms, sent to where somebody waits for them, signed, until they have arrived."""

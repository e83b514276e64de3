"""Training the process reward model: `config` says how, `material` chooses what from the store, `train` fits,
`scaling` calibrates."""

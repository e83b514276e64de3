"""Studies that need a whole platform: `deskhand study NAME`. The trainer's own are in its package."""

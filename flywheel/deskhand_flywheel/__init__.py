"""The flywheel: trajectories, scores, datasets, the process reward model, curation."""

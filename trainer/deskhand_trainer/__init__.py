"""The trainer: advantages, losses, value pretraining, PPO, checkpoints, evaluation."""

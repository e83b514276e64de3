"""The process reward model: labels from outcomes, a score head on the policy's own model, scores per step.

`labels` and `metrics` need nothing installed; `examples`, `model` and `scoring` need the "vlm" extra: import
them lazily. Training one is the trainer's.
"""

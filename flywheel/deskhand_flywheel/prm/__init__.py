"""The process reward model: labels for steps, a score head on the policy's own model, how good scores are.

Labels come from `continuation` and `labelling` (Monte-Carlo), from scores of people and judges, or from
outcomes (`labels`); `targets` puts them on one scale. `calibration` and `metrics` judge scores. These need
nothing installed; `examples`, `model` and `scoring` need the "vlm" extra: import them lazily. Training one is
the trainer's.
"""

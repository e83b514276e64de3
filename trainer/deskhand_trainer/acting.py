"""The engines that draw an online run's replies."""

from __future__ import annotations

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_agent.models.engine_pool import EnginePool
from deskhand_agent.models.features import FeatureCache
from deskhand_trainer.loop_state import PpoSetting

LIVES = 1_000_003
"""So far apart are the seeds of sampling of two runs; lives and engines of one lie between."""


def acting_engines(
    setting: PpoSetting, acting: ModelBundle, *, update: int, features: FeatureCache | None
) -> EnginePool:
    """As many as the run asks for.

    Args:
        acting: what the first of them serves; the others serve copies.
        update: how many online updates its weights have seen.
        features: of a vision tower that no update changes, for all of them.
    """
    config = setting.config
    served = [acting, *(acting.clone() for _ in range(config.engines - 1))]
    return EnginePool(
        [
            LocalEngine(
                bundle,
                policy_id=setting.policy_id,
                settings=EngineSettings(
                    max_batch=max(16, config.concurrency),
                    deadline_s=config.decision_s,
                    # a run taken up again must not draw the same replies again, nor one engine another's
                    seed=config.seed * LIVES + setting.life + (index << 32),
                    device=config.device,
                    precision=config.precision,
                ),
                update=update,
                features=features,
            )
            for index, bundle in enumerate(served)
        ]
    )

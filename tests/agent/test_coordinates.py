from __future__ import annotations

from importlib import import_module

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deskhand_agent.coordinates import smart_resize

SIZE = st.tuples(st.integers(28, 4000), st.integers(28, 4000))


@settings(max_examples=200)
@given(SIZE, st.sampled_from([(28, 3136, 1_003_520), (32, 65_536, 500_000)]))
def test_smart_resize_is_that_of_the_image_processor(
    size: tuple[int, int], limits: tuple[int, int, int]
) -> None:
    import_module("deskhand_agent.models")  # makes torchvision load; processors import it
    qwen = import_module("transformers.models.qwen2_vl.image_processing_pil_qwen2_vl")
    factor, least, most = limits
    assume(max(size) / min(size) < 200)
    width, height = smart_resize(size, factor=factor, min_pixels=least, max_pixels=most)
    assert (height, width) == qwen.smart_resize(size[1], size[0], factor, least, most)

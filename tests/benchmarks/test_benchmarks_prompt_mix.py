"""The mix of prompts that hooks are measured with."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))

from processes import quantile  # noqa: E402
from workloads.prompt_forms import FORMS, MAX_CHARS, mix  # noqa: E402


def test_a_seed_determines_the_prompts_and_each_form_of_prompt_has_its_share() -> None:
    prompts = mix(300, entities=100)

    forms = [prompt.form for prompt in prompts]
    assert {form: forms.count(form) for form, _, _ in FORMS} == {f: 3 * s for f, s, _ in FORMS}
    assert mix(300, entities=100) == prompts
    assert mix(300, seed="another", entities=100) != prompts


def test_generated_prompts_are_about_as_long_as_prompts_of_real_conversations() -> None:
    lengths = [len(prompt.text) for prompt in mix(600, entities=100)]

    assert 60 < quantile(lengths, 0.5) < 180
    assert 150 < quantile(lengths, 0.75) < 400
    assert 500 < quantile(lengths, 0.9) < 1_500
    assert max(lengths) <= MAX_CHARS


def test_every_field_of_a_prompt_template_is_filled() -> None:
    texts = [prompt.text for prompt in mix(600, entities=100)]

    fields = ("{s}", "{t}", "{n}", "{fn}", "{file}", "{part}", "{name}", "{what}", "{err}")
    assert not any(field in text for text in texts for field in fields)
    assert any("_rows WHERE" in text for text in texts)

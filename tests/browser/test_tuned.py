"""What was measured on this machine is offered beside a method's settings, and goes into the fields
when it is taken.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from core.measure.tuned import Plain, Tuned, this_machine, write_tuned
from tests.app.served import served
from tests.browser.test_explore import Site
from tests.test_tune import proposal

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:gradio"),
]


def test_a_click_takes_what_was_measured(
    chromium: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path))
    settings = {"drafter": "model", "length": 7}
    write_tuned(
        Tuned(
            target="SmolLM2-135M-Instruct (Q4_1)",
            revision=None,
            dtype="bfloat16",
            machine=this_machine(),
            processor="toy",
            temperature=0.0,
            created="2026-12-01",
            plain=[Plain(threads=1, round_ms=20.0)],
            proposals=[proposal(settings=settings, threads=1)],
        )
    )
    with served() as (app, url):
        site = Site(chromium, app, url)
        page = site.open()
        offer = page.get_by_role("button", name="Tuned for this machine")
        page.locator("#ds-method").select_option("rsd")
        expect(offer).not_to_be_visible()
        page.locator("#ds-method").select_option("speculative_sampling")
        expect(offer).to_be_visible()
        assert "1.25 times plain decoding expected" in (offer.get_attribute("title") or "")
        length = page.locator("[data-field='config.length'] input")
        before = length.input_value()
        offer.click()
        assert before != "7"
        assert length.input_value() == "7"
        assert page.locator("[data-field='config.drafter'] select").input_value() == "model"
        assert page.locator("[data-field='threads'] input").input_value() == "1"
        page.context.close()
        assert site.faults == []

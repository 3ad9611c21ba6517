from __future__ import annotations

import json
import math
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import releases
from wainwright.releasing.journal import Journal
from wainwright.releasing.reporting import markdown, report
from wainwright.releasing.reportpage import page
from wainwright.releasing.sealing import seal

VERDICT = {
    "measured": {"tag": "manylinux_2_17_x86_64"},
    "warnings": [{"rule": "static-tls", "message": "<b>bold</b>"}],
    "libraries": {"inside": ["libgomp.so.1"], "excluded": ["libcuda.so.1"], "missing": []},
}


def test_the_report_tells_what_every_receipt_says(tmp_path: Path) -> None:
    trial = releases.trial(tmp_path)
    full, reduced = trial.job("full"), trial.job("reduced")
    trial.write(full, "audit", facts={"verdict": VERDICT})
    trial.write(reduced, "smoke", "centos7", passed=False, error="import demo failed\nVERY <wrong>")
    trial.receipts.remove(reduced.id, "smoke", "debian10")
    made = report("demo 1.0", trial.jobs, trial.receipts, manifest=None, journal=None)
    assert made.proven == 1
    for text in (markdown(made), page(made)):
        for said in ("demo 1.0", trial.wheel("full").name, "1 of 2 jobs proven", "Nothing is sealed yet"):
            assert said in text
        assert "debian10 missing" in text or "missing" in text
    shown = page(made)
    assert "measured manylinux_2_17_x86_64" in shown
    assert "warning static-tls: &lt;b&gt;bold&lt;/b&gt;" in shown
    assert "excluded: libcuda.so.1" in shown
    assert "VERY &lt;wrong&gt;" in shown


def test_a_sealed_release_tells_where_it_is_and_since_when(tmp_path: Path) -> None:
    trial = releases.trial(tmp_path)
    sealed = seal(trial.sealing(), reseal=False, public=lambda _: ())
    journal = Journal.open(None, "v1.0", now=lambda: "2026-01-02T03:04:05+00:00")
    journal.record("internal", "verified", sealed.bound_for("internal")[0].asset(trial.wheelhouse))
    made = report("demo 1.0", trial.jobs, trial.receipts, manifest=sealed, journal=journal)
    text = markdown(made)
    assert "internal: public, 2026-01-02T03:04:05+00:00, page: not yet" in text
    assert "Sealed 2026-01-02T03:04:05+00:00 at commit `cccc" in text
    assert "sha256:debian10" in page(made)


def test_what_lies_in_a_draft_is_not_published(tmp_path: Path) -> None:
    trial = releases.trial(tmp_path)
    sealed = seal(trial.sealing(), reseal=False, public=lambda _: ())
    journal = Journal.open(None, "v1.0", now=lambda: "2026-01-02T03:04:05+00:00")
    for name in ("internal", "page"):
        for file in sealed.bound_for(name):
            journal.record(name, "uploaded", file.asset(trial.wheelhouse))

    def places() -> str:
        made = report("demo 1.0", trial.jobs, trial.receipts, manifest=sealed, journal=journal)
        return ", ".join(place for entry in made.entries for place in entry.places)

    assert "page: in the draft, 2026-01-02T03:04:05+00:00" in places()
    assert "internal: uploaded, not seen yet, 2026-01-02T03:04:05+00:00" in places()
    for file in sealed.bound_for("page"):
        journal.record("page", "verified", file.asset(trial.wheelhouse))
    assert "page: public, 2026-01-02T03:04:05+00:00" in places()


def test_a_wheel_that_was_built_since_is_nowhere(tmp_path: Path) -> None:
    trial = releases.trial(tmp_path)
    sealed = seal(trial.sealing(), reseal=False, public=lambda _: ())
    releases.make_wheel(trial.wheel("full"), says="built again")
    trial.prove()
    made = report("demo 1.0", trial.jobs, trial.receipts, manifest=sealed, journal=None)
    assert [entry.job.variant.name for entry in made.entries if entry.places] == ["reduced"]


def test_the_page_is_whole_and_asks_for_nothing_else(tmp_path: Path) -> None:
    trial = releases.trial(tmp_path)
    text = page(report("demo <1.0>", trial.jobs, trial.receipts, manifest=None, journal=None))
    opened: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert not {"src", "href"} & dict(attrs).keys()
            if tag not in {"meta", "br"}:
                opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Reader().feed(text)
    assert opened == []


ODD: tuple[Any, ...] = (None, 7, "zz", "\ud800", [], {}, [7], [{}], {"a": 1}, True, -1, 10**400, math.nan)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Give each container in a JSON value with each of its keys."""
    for key in list(value if isinstance(value, dict) else range(len(value))):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places(value[key])


def test_no_edit_of_a_receipt_breaks_the_report(tmp_path: Path) -> None:
    trial = releases.trial(tmp_path)
    job = trial.job("full")
    trial.write(job, "audit", facts={"verdict": VERDICT})
    path = trial.receipts.path(job.id, "audit")
    whole = json.loads(path.read_text())
    for holder, key in places(whole):
        before = holder[key]
        for odd in ODD:
            holder[key] = odd
            path.write_text(json.dumps(whole))
            made = report("demo 1.0", trial.jobs, trial.receipts, manifest=None, journal=None)
            assert (markdown(made) + page(made)).encode()
        holder[key] = before

from __future__ import annotations

from pathlib import Path

import pytest

from wainwright.running.recipes import recipe_of


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("COPY note /note", True),
        ("copy --chown=0:0 ./note other /", True),
        ("COPY \\\n  other \\\n  note /", True),
        ('ADD ["note", "/a b"]', True),
        ("COPY n*e /", True),
        ("COPY --chmod=755 folder /folder", True),
        ("COPY /folder/deep /", True),
        ("COPY --from=base note /note", False),
        ("COPY other /", False),
        ("COPY . /source", False),
        ("COPY ../note /", False),
        ("ADD https://example.org/note /", False),
        ("COPY $NOTE /", False),
        ("COPY [broken /", False),
        ('COPY ["broken', False),
        ("COPY **x /", False),
        ("RUN echo note >/note", False),
    ],
)
def test_what_a_dockerfile_copies_is_part_of_its_recipe(line: str, *, counts: bool, tmp_path: Path) -> None:
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text(f"FROM scratch\n{line}\n")
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    for name in ("note", "other", "folder/deep/file"):
        (tmp_path / name).write_text("one")
    before = recipe_of(dockerfile)
    assert recipe_of(dockerfile) == before
    for name in ("note", "folder/deep/file"):
        (tmp_path / name).write_text("two")
    assert (recipe_of(dockerfile) != before) is counts

from __future__ import annotations

import dataclasses
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import jsonschema_rs
import pytest
import tomli

from wainwright.auditing.terms import Pattern
from wainwright.declaration import complaints, config, release
from wainwright.declaration.document import Document
from wainwright.declaration.planchecks import known_glibc
from wainwright.declaration.release import Directory, Git, Image, Sdist
from wainwright.errors import Exit, WainwrightError
from wainwright.values import Glibc, Python

HERE = Path(__file__).parent
RIGHT = (HERE / "release.toml").read_text(encoding="utf-8")


class Case(NamedTuple):
    name: str
    text: str
    lines: tuple[str, ...]


def _cases() -> list[Case]:
    cases = []
    for case in tomli.loads((HERE / "mistakes.toml").read_text(encoding="utf-8"))["case"]:
        text = RIGHT
        for old, new in case.get("replace", ()):
            assert old in text, case["name"]
            text = text.replace(old, new)
        cases.append(Case(case["name"], text + case.get("append", ""), tuple(case["lines"])))
    return cases


CASES = _cases()


def _load(folder: Path, text: str) -> release.Release:
    path = folder / "release.toml"
    path.write_text(text, encoding="utf-8")
    return config.load(path)


def _refused(folder: Path, text: str) -> WainwrightError:
    with pytest.raises(WainwrightError) as caught:
        _load(folder, text)
    return caught.value


def _error(folder: Path, text: str) -> WainwrightError | None:
    try:
        _load(folder, text)
    except WainwrightError as error:
        return error
    return None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_mistake_is_told_in_words(tmp_path: Path, case: Case) -> None:
    error = _refused(tmp_path, case.text)
    assert error.details == case.lines
    assert error.code == Exit.USAGE
    assert error.where.endswith("release.toml")


def test_the_table_of_mistakes_is_long_and_names_each_once() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


def test_no_message_shows_a_regex_or_a_type_of_json() -> None:
    shown = "\n".join(line for case in CASES for line in case.lines)
    for sign in ("^", "$", "\\S", "object", "array", "anyOf", "is not of type"):
        assert sign not in shown.replace("${", ""), sign


def test_the_right_file_loads(tmp_path: Path) -> None:
    loaded = _load(tmp_path, RIGHT)
    assert list(loaded.variants) == ["full", "small"]
    assert list(loaded.targets) == [Glibc(2, 17), Glibc(2, 27)]
    assert loaded.images["host"] == Image(name="host")
    assert loaded.root == tmp_path
    assert loaded.project.source == Directory(path=tmp_path)


def test_everything_in_a_variant_has_its_value(tmp_path: Path) -> None:
    (tmp_path / "old.Dockerfile").touch()
    own = """
    python = ["3.10", "3.13t"]
    arch = ["aarch64"]
    [variants.small.build]
    before = ["yum install -y x"]
    command = "{python} -m build -o {out} {source} -- ${{HOME}}"
    env = { A = "" }
    network = false
    [variants.small.libraries]
    exclude = [{ library = "/usr/local/cuda*", reason = "the user's" }]
    exclude-optional = ["libhip*"]
    bundle = ["libgomp.so.1"]
    keep-name = ["libgomp.so.1"]
    forbid = ["libcudart*"]
    provided-by = { "libtvm_ffi.so" = "apache-tvm-ffi" }
    [variants.small.audit]
    mode = "retag"
    isa = "x86_64_v2"
    allow = ["absolute-rpath"]
    deny = ["static-tls"]
    licences = ["Zlib"]
    [variants.small.wheel]
    require = ["demo/*.so"]
    forbid = ["*.a"]
    max-size = "1 GiB"
    [variants.small.smoke]
    images = ["host", "buster"]
    import = ["demo", "demo.core"]
    run = ["python -m demo"]
    backends = "python -c 'print()'"
    """
    text = RIGHT.replace('local-version = "small"\npublish = ["page"]', 'local-version = "Small_1"\npublish = []' + own)
    text = text.replace('ref = "quay.io/pypa/manylinux2014_x86_64"', 'dockerfile = "old.Dockerfile"\nfallback = "zig"')
    loaded = _load(tmp_path, text)
    small = loaded.variants["small"]
    assert small.python == (Python(3, 10), Python(3, 13, threaded=True))
    assert small.arch == ("aarch64",)
    assert small.local_version == "small.1"
    assert small.build == release.Build(
        before=("yum install -y x",),
        command="{python} -m build -o {out} {source} -- ${{HOME}}",
        env={"A": ""},
        network=False,
    )
    assert small.libraries == release.Libraries(
        exclude=(Pattern("/usr/local/cuda*", "the user's"),),
        exclude_optional=(Pattern("libhip*"),),
        bundle=(Pattern("libgomp.so.1"),),
        keep_name=(Pattern("libgomp.so.1"),),
        forbid=(Pattern("libcudart*"),),
        provided_by=((Pattern("libtvm_ffi.so"), "apache-tvm-ffi"),),
    )
    assert small.audit == release.Audit(
        mode="retag",
        isa="x86_64_v2",
        allow=frozenset({"absolute-rpath"}),
        deny=frozenset({"static-tls"}),
        licences=("Zlib",),
    )
    assert small.wheel == release.Contents(require=("demo/*.so",), forbid=("*.a",), max_size=1024**3)
    assert small.smoke == release.Smoke(
        images=("host", "buster"),
        imports=("demo", "demo.core"),
        run=("python -m demo",),
        backends="python -c 'print()'",
    )
    assert loaded.images["old"].dockerfile == tmp_path / "old.Dockerfile"
    assert loaded.images["old"].fallback == "zig"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ('{ sdist = "ujson == 5.10.0" }', Sdist(requirement="ujson==5.10.0")),
        ('{ git = "../other", rev = "v1" }', Git(url="../other", rev="v1")),
    ],
)
def test_sources(tmp_path: Path, text: str, source: object) -> None:
    assert _load(tmp_path, RIGHT.replace('"."', text)).project.source == source


def test_an_sdist_has_a_name_and_a_version() -> None:
    sdist = Sdist(requirement="ujson==5.10.0")
    assert (sdist.name, sdist.version) == ("ujson", "5.10.0")


def test_a_tag_spells_a_version(tmp_path: Path) -> None:
    project = _load(tmp_path, RIGHT.replace('source = "."', 'source = "."\ntag = "demo-v{version}+x"')).project
    assert project.version_of("demo-v1.2+x") == "1.2"
    assert project.version_of("demo-v1.2") is None
    assert project.version_of("demo-v+x") is None


@pytest.mark.parametrize(
    ("text", "size"),
    [("1 B", 1), ("2kB", 2000), ("2 KB", 2000), ("1.5 MB", 1_500_000), ("8 GiB", 8 * 1024**3), ("1 TB", 10**12)],
)
def test_sizes_are_in_bytes(tmp_path: Path, text: str, size: int) -> None:
    loaded = _load(
        tmp_path, RIGHT.replace('repository = "owner/name"', f'repository = "owner/name"\nmax-size = "{text}"')
    )
    assert loaded.publish["page"].max_size == size


def test_what_a_destination_is_follows_from_its_repository(tmp_path: Path) -> None:
    own = '[publish.own]\nurl = "https://packages.example.org/legacy/"\nlocal-versions = true\n'
    own += '[publish.named]\nrepository = "our_index"\nlocal-versions = true\nsimple = "https://example.org/simple/"\n'
    publish = _load(tmp_path, RIGHT.replace('["page"]', '["page", "own"]') + own).publish
    assert {name: (to.kind, to.local_versions) for name, to in publish.items()} == {
        "pypi": ("index", False),
        "page": ("github", True),
        "own": ("index", True),
        "named": ("index", True),
    }


@pytest.mark.parametrize(
    ("tag", "against", "is_path"),
    [
        ("v{version}", "latest", False),
        ("v{version}", "v0.9.1", False),
        ("v{version}", "./old", True),
        ("v{version}", "old/demo-1.0-py3-none-any.whl", True),
        ("{version}", "./old", True),
        ("demo/v{version}", "demo/v0.9.1", False),
        ("demo/v{version}", "demo/vold", True),
    ],
)
def test_a_tag_with_a_slash_is_no_path(tmp_path: Path, tag: str, against: str, is_path: bool) -> None:
    text = RIGHT.replace('source = "."', f'source = "."\ntag = "{tag}"')
    loaded = _load(tmp_path, f'{text}[variants.full.diff]\nagainst = "{against}"\n')
    assert loaded.project.is_path(against) is is_path


def test_nightlies_go_where_it_is_said(tmp_path: Path) -> None:
    publish = _load(tmp_path, RIGHT + "nightly = true\n").publish
    assert {name: to.nightly for name, to in publish.items()} == {"pypi": False, "page": True}


def test_a_floor_without_a_target_is_fine_for_a_variant_with_an_image(tmp_path: Path) -> None:
    own = '[variants.small.smoke]\nimages = ["buster"]\n'
    text = RIGHT.replace('backends = ["cpu"]\nglibc = ["2.17"]', 'backends = ["cpu"]\nglibc = ["2.25"]\nimage = "zig"')
    assert _load(tmp_path, text + own).variants["small"].glibc == (Glibc(2, 25),)


def test_a_toolchains_wheels_may_be_published_when_this_host_has_proven_them(tmp_path: Path) -> None:
    text = RIGHT.replace('image = "old"\nsmoke = ["buster"]', 'image = "zig"')
    assert _load(tmp_path, text).targets[Glibc(2, 17)].smoke == ("host",)


def test_a_toolchain_in_an_image_compiles_for_an_older_glibc_than_the_images(tmp_path: Path) -> None:
    newer = 'ref = "docker.io/library/debian:12"\n'
    text = RIGHT.replace('toolchain = "zig"', f'toolchain = "zig"\n{newer}fallback = "zig"')
    text = text.replace('image = "old"\nsmoke = ["buster"]', 'image = "zig"\nsmoke = ["buster"]')
    image = _load(tmp_path, text).images["zig"]
    assert (image.is_host, image.toolchain) == (False, "zig")
    assert "which has 2.36" in "\n".join(_refused(tmp_path, text.replace('toolchain = "zig"\n', "")).details)


def test_a_name_with_one_filename_elsewhere_is_no_collision(tmp_path: Path) -> None:
    _load(tmp_path, RIGHT.replace('local-version = "small"\n', ""))


def test_values_are_frozen(tmp_path: Path) -> None:
    loaded = _load(tmp_path, RIGHT)
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.project.tag = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        loaded.images["x"] = Image(name="x")  # type: ignore[index]
    with pytest.raises(TypeError):
        loaded.backends["cuda"].on.env["X"] = "1"  # type: ignore[index]


def test_no_file_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(WainwrightError, match=r"there is no release\.toml here") as caught:
        config.load(tmp_path / "release.toml")
    assert caught.value.code == Exit.USAGE
    _load(tmp_path, caught.value.hint.partition("\n")[2])


@pytest.mark.parametrize(
    ("content", "what", "place"),
    [
        (b"[project\n", "this is no TOML: expected ']' at the end of a table declaration", "line 1, column 9"),
        (b"a = 1\na = 2\n", "this is no TOML: cannot overwrite a value", "line 2, column 6"),
        (b"a = 1\nb = '\xff'\n", "this is no TOML: it is not UTF-8", "line 2"),
        (b"a = " + b"[" * 5000, "it is nested too deeply", "release.toml"),
    ],
)
def test_broken_toml_is_told_with_its_place(tmp_path: Path, content: bytes, what: str, place: str) -> None:
    path = tmp_path / "release.toml"
    path.write_bytes(content)
    with pytest.raises(WainwrightError) as caught:
        config.load(path)
    assert caught.value.what == what
    assert caught.value.where.endswith(place)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(WainwrightError, match="it cannot be read: Is a directory"):
        config.load(tmp_path)


def test_an_empty_file_lacks_what_must_be_there(tmp_path: Path) -> None:
    error = _refused(tmp_path, "")
    assert error.what == "2 mistakes"
    assert error.details == (
        "project: expected a table [project], found nothing",
        "variants: expected at least one table [variants.NAME], found nothing",
    )


EXAMPLE = (HERE / "example.toml").read_text(encoding="utf-8")


def test_the_long_example_has_every_key() -> None:
    data, missing = tomli.loads(EXAMPLE), []
    for place, keys in complaints._tables():
        pattern = tuple("*" if key == "NAME" else key for key in place)
        seen = {key for _, table in Document(data).at(*pattern) for key in table}
        if place[:2] != ("backends", "NAME") or "libraries" not in place:  # the same keys as a variant's
            missing += [(*place, key) for key in sorted(keys - seen)]
    assert missing == []


def test_the_long_example_loads(tmp_path: Path) -> None:
    (tmp_path / "docker").mkdir()
    (tmp_path / "docker" / "centos7-cuda.Dockerfile").touch()
    loaded = _load(tmp_path, EXAMPLE)
    assert list(loaded.variants) == ["full", "llvm"]
    assert loaded.variants["llvm"].local_version == "llvm"


def test_the_schema_is_a_schema_that_helps() -> None:
    schema = json.loads(complaints.SCHEMA.read_text(encoding="utf-8"))
    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    silent: list[str] = []

    def walk(node: Any, place: str) -> None:
        if isinstance(node, list):
            for index, part in enumerate(node):
                walk(part, f"{place}/{index}")
        if not isinstance(node, dict):
            return
        silent.extend(
            f"{place}/{key}" for key, part in node.get("properties", {}).items() if not part.get("description")
        )
        if node.keys() & {"type", "enum", "anyOf"} and not isinstance(node.get("type"), dict):
            silent.extend([place] * (not node.get("description")))
        for key, part in node.items():
            walk(part, f"{place}/{key}")

    walk(schema, "#")
    assert silent == []


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (release.Project, "project"),
        (release.Backend, "backends NAME"),
        (release.Libraries, "variants NAME libraries"),
        (release.Image, "images NAME"),
        (release.Target, "targets NAME"),
        (release.Variant, "variants NAME"),
        (release.Build, "variants NAME build"),
        (release.Audit, "variants NAME audit"),
        (release.Contents, "variants NAME wheel"),
        (release.Smoke, "variants NAME smoke"),
        (release.Loaded, "variants NAME smoke loaded"),
        (release.Diff, "variants NAME diff"),
        (release.Destination, "publish NAME"),
        (release.Release, ""),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_schema_and_values_have_the_same_keys(value: Any, place: str) -> None:
    # What the file's key is in the values, and what a value has from its place in the file and not from a key
    renamed = {"import": "imports"}
    derived = {
        release.Release: {"path", "root"},
        release.Target: {"glibc"},
        release.Destination: {"name", "kind"},
    }.get(value, {"name"})
    keys = dict(complaints._tables())[tuple(place.split())]
    assert get_type_hints(value)
    fields = {field.name for field in dataclasses.fields(value)} - derived
    assert {renamed.get(key, key.replace("-", "_")) for key in keys} == fields


@pytest.mark.parametrize(
    ("ref", "glibc"),
    [
        ("quay.io/pypa/manylinux2014_x86_64", Glibc(2, 17)),
        ("quay.io/pypa/manylinux_2_28_aarch64:latest", Glibc(2, 28)),
        ("quay.io/pypa/manylinux_2_34_x86_64@sha256:12", Glibc(2, 34)),
        ("quay.io/pypa/manylinux2010_x86_64", Glibc(2, 12)),
        ("centos:7", Glibc(2, 17)),
        ("almalinux:8-minimal", Glibc(2, 28)),
        ("rockylinux:9.3", Glibc(2, 34)),
        ("ubuntu:18.04", Glibc(2, 27)),
        ("ubuntu:focal", Glibc(2, 31)),
        ("docker.io/library/ubuntu:22.04", Glibc(2, 35)),
        ("ubuntu:24.04", Glibc(2, 39)),
        ("nvidia/cuda:11.8.0-devel-ubuntu20.04", Glibc(2, 31)),
        ("debian:buster-slim", Glibc(2, 28)),
        ("debian:10.13", Glibc(2, 28)),
        ("python:3.10-slim-bullseye", Glibc(2, 31)),
        ("debian:12", Glibc(2, 36)),
        ("debian:trixie", Glibc(2, 41)),
        ("debian:testing", None),
        ("ubuntu", None),
        ("python:3.10", None),
        ("registry.example.org:5000/build", None),
        ("amazonlinux:2", Glibc(2, 26)),
        ("amazonlinux:2023", Glibc(2, 34)),
    ],
)
def test_the_glibc_of_well_known_images(ref: str, glibc: Glibc | None) -> None:
    assert known_glibc(Image(name="x", ref=ref)) == glibc
    assert known_glibc(Image(name="x", ref=ref, dockerfile=Path("Dockerfile"))) is None


def test_whatever_stands_in_a_place_the_answer_is_a_sentence(tmp_path: Path) -> None:
    """Put every kind of value in every place, two places at a time: no foreign error gets out, no line is empty."""
    odd = ["1", "true", '"x"', '""', "[]", "{}", "1979-05-27", "[1]", '["zig"]', '"zig"', '"2.17"', '["2.17"]', "nan"]
    chance = random.Random(7)  # noqa: S311  # the same every time
    lines = EXAMPLE.splitlines()
    places = [index for index, line in enumerate(lines) if " = " in line]
    heads = [index for index, line in enumerate(lines) if line.startswith("[")]
    trials: list[tuple[tuple[int, str], ...]] = [
        ((place, value),) for place in places for value in chance.sample(odd, 6)
    ]
    trials += [tuple((chance.choice(places), chance.choice(odd)) for _ in range(2)) for _ in range(100)]
    for trial in trials:
        spoilt = list(lines)
        for place, value in trial:
            spoilt[place] = f"{lines[place].partition(' = ')[0]} = {value}"
        if len(trial) > 1:
            del spoilt[chance.choice(heads)]
        error = _error(tmp_path, "\n".join(spoilt))
        if error is not None:
            assert error.details or "this is no TOML" in error.what
            assert all(": " in line for line in error.details)


def test_loading_brings_no_heavy_module_along(tmp_path: Path) -> None:
    (tmp_path / "release.toml").write_text(RIGHT, encoding="utf-8")
    code = """if True:
        import sys
        from pathlib import Path
        from wainwright.declaration import config
        config.load(Path("release.toml"))
        print(*sys.modules.keys() & {"pydantic", "packaging", "difflib", "nox", "zipfile", "subprocess", "tempfile"})
    """
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""

"""A wheel's dist-info folder as values: WHEEL, METADATA, RECORD; and where members install.

What is wrong with them is for the rules to say: values keep the spelling that was found, and what could not be read
becomes a `Fault`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, product
from math import prod

from wainwright.formats.archive import Archive, Entry, MemberError
from wainwright.formats.record import Row, parse_record
from wainwright.formats.wheelname import WheelName, canonical_name, same_version
from wainwright.light import Final, dataclass

# Each larger than any in use, and small enough that what they become in memory stays small: a METADATA holds a README.
TEXT_LIMIT: Final = 64 << 20
WHEEL_LIMIT: Final = 1 << 16
METADATA_LIMIT: Final = 16 << 20
MOST_HEADERS: Final = 20_000
MOST_TAGS: Final = 1024  # that one compressed tag may stand for: three sets of names multiply
HEADER: Final = re.compile(r"[!-9;-~]+")  # RFC 5322: printable US-ASCII but for the colon
LINE_END: Final = re.compile(r"\r\n|\r|\n")
# The binary distribution format: "RECORD.jws is used for digital signatures. It is not mentioned in RECORD.
# RECORD.p7s is allowed as a courtesy to anyone who would prefer to use S/MIME signatures".
SIGNATURES: Final = ("RECORD.jws", "RECORD.p7s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something in the dist-info folder that could not be read; `member` is where, or the name of what is absent."""

    member: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Headers:
    """The header lines of WHEEL or METADATA, in order; names keep their spelling and compare without case."""

    fields: tuple[tuple[str, str], ...]

    def all(self, name: str) -> tuple[str, ...]:
        return tuple(value for field, value in self.fields if field.lower() == name.lower())

    def first(self, name: str) -> str:
        """Give the first value of a field, or the empty string."""
        return next(iter(self.all(name)), "")


def parse_headers(text: str) -> Headers:
    """Read e-mail headers as email.parser does, up to the first empty or foreign line; folded lines are joined.

    What follows more lines than any file has is left out.
    """
    fields: list[tuple[str, list[str]]] = []
    for line in islice(_lines(text.removeprefix("\ufeff")), MOST_HEADERS):
        if line[:1] in {" ", "\t"} and fields:
            fields[-1][1].append(line)
            continue
        name, colon, value = line.partition(":")
        if not colon or not HEADER.fullmatch(name):
            break
        fields.append((name, [value.strip()]))
    return Headers(fields=tuple((name, "\n".join(lines)) for name, lines in fields))


def _lines(text: str) -> Iterator[str]:
    """Split at CRLF, CR and LF alone, one line at a time: the text of a README follows."""
    at = 0
    for end in LINE_END.finditer(text):
        yield text[at : end.start()]
        at = end.end()
    yield text[at:]


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelFields:
    """The WHEEL file. `tags` are the values of its `Tag:` lines as they stand, also empty and compressed ones."""

    wheel_version: str
    root_is_purelib: bool
    build: str
    tags: tuple[str, ...]
    headers: Headers

    @property
    def expanded(self) -> frozenset[str]:
        """Every single tag that the lines stand for; lines that are no tag are `malformed` and left out."""
        return frozenset(tag for line in self.tags for tag in expand(line))

    @property
    def malformed(self) -> tuple[str, ...]:
        return tuple(line for line in self.tags if not expand(line))

    @property
    def compressed(self) -> tuple[str, ...]:
        """The lines that stand for more than one tag; PEP 427 has one line for each."""
        return tuple(line for line in self.tags if len(expand(line)) > 1)


def expand(tag: str) -> frozenset[str]:
    """Expand `py2.py3-none-any` to its single tags (PEP 425), none when it is not three sets of names, or absurd."""
    sets = [part.split(".") for part in tag.lower().split("-")]
    if len(sets) != 3 or prod(map(len, sets)) > MOST_TAGS:
        return frozenset()
    if not all(re.fullmatch(r"\w+", name, re.ASCII) for names in sets for name in names):
        return frozenset()
    return frozenset("-".join(single) for single in product(*sets))


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The METADATA file, as spelled."""

    name: str
    version: str
    requires_dist: tuple[str, ...]
    requires_python: str
    headers: Headers


@dataclass(frozen=True, slots=True, kw_only=True)
class DistInfo:
    """What a wheel says about itself. A file that is absent or unreadable is None, and a fault says why.

    `folders` are all `*.dist-info` folders at the root, `data_folders` all `*.data` ones; `folder` is the one whose
    name and version are the file name's, else the only one, else empty.
    """

    folder: str
    folders: tuple[str, ...]
    data_folders: tuple[str, ...]
    wheel: WheelFields | None
    metadata: Metadata | None
    record: tuple[Row, ...] | None
    faults: tuple[Fault, ...]

    @property
    def record_name(self) -> str:
        return f"{self.folder}/RECORD"

    @property
    def unrecorded(self) -> frozenset[str]:
        """Members that RECORD need not list."""
        return frozenset(f"{self.folder}/{name}" for name in SIGNATURES)


def same_distribution(folder: str, name: WheelName) -> bool:
    """Whether `NAME-VERSION.dist-info` (or `.data`) is this file name's, under the normalisation of both."""
    distribution, _, version = folder.rpartition(".")[0].rpartition("-")
    same_name = canonical_name(distribution) == name.project
    return same_name and same_version(version.replace("_", "-"), name.public_version)


def read_dist_info(
    archive: Archive, name: WheelName, *, files: tuple[str, ...] = ("WHEEL", "METADATA", "RECORD")
) -> DistInfo:
    """Read WHEEL, METADATA and RECORD of an open wheel, or fewer `files`; never raises for what they hold."""
    tops = dict.fromkeys(entry.name.split("/")[0] for entry in archive.entries if "/" in entry.name)
    folders = tuple(top for top in tops if top.endswith(".dist-info"))
    matching = [folder for folder in folders if same_distribution(folder, name)]
    candidates = matching or folders
    folder = candidates[0] if len(candidates) == 1 else ""
    read = {file: text_or_fault(archive, f"{folder}/{file}") for file in files if folder}
    texts = {file: text for file, text in read.items() if isinstance(text, str)}
    return DistInfo(
        folder=folder,
        folders=folders,
        data_folders=tuple(top for top in tops if top.endswith(".data")),
        wheel=parse_wheel(texts["WHEEL"]) if "WHEEL" in texts else None,
        metadata=parse_metadata(texts["METADATA"]) if "METADATA" in texts else None,
        record=parse_record(texts["RECORD"]) if "RECORD" in texts else None,
        faults=tuple(fault for fault in read.values() if isinstance(fault, Fault)),
    )


def text_or_fault(archive: Archive, member: str) -> str | Fault:
    """Read a member of UTF-8 text, or say why it cannot be read."""
    try:
        return read_text(archive, member)
    except MemberError as error:
        return Fault(member=error.member, message=error.what)


def find(entries: Iterable[Entry], member: str) -> Entry:
    """Give the one member of this name, the last as zipfile has it; raises MemberError when there is none."""
    found = [entry for entry in entries if entry.name == member]
    if not found:
        raise MemberError(member, "it is absent")
    return found[-1]


def read_text(archive: Archive, member: str) -> str:
    """Read a member of UTF-8 text; raises MemberError, also for one that is larger than such a file can be."""
    data = archive.read(find(archive.entries, member), limit=_limit(archive, member))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MemberError(member, f"it is not UTF-8 (byte {error.start})") from error


def _limit(archive: Archive, member: str) -> int:
    """Say how large a file may be: rows of RECORD become many times their size, and there are no more than members."""
    file = member.rpartition("/")[2]
    if file == "RECORD":
        return min(TEXT_LIMIT, (1 << 18) + sum(256 + 4 * len(entry.name) for entry in archive.entries))
    return {"WHEEL": WHEEL_LIMIT, "METADATA": METADATA_LIMIT}.get(file, TEXT_LIMIT)


def parse_wheel(text: str) -> WheelFields:
    headers = parse_headers(text)
    return WheelFields(
        wheel_version=headers.first("Wheel-Version"),
        root_is_purelib=headers.first("Root-Is-Purelib").lower() == "true",
        build=headers.first("Build"),
        tags=headers.all("Tag"),
        headers=headers,
    )


def parse_metadata(text: str) -> Metadata:
    headers = parse_headers(text)
    return Metadata(
        name=headers.first("Name"),
        version=headers.first("Version"),
        requires_dist=headers.all("Requires-Dist"),
        requires_python=headers.first("Requires-Python"),
        headers=headers,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a member installs: `scheme` is purelib, platlib, or what its `.data` folder names, which need not exist."""

    scheme: str
    path: str


def locate(member: str, *, root_is_purelib: bool) -> Location:
    """Tell where installers put a member.

    The binary distribution format: "the .data directory contains subdirectories with the scripts, headers,
    documentation and so forth"; all else goes to purelib or platlib "depending on Root-Is-Purelib".
    """
    top, _, rest = member.partition("/")
    if top.endswith(".data") and rest:
        scheme, _, path = rest.partition("/")
        return Location(scheme=scheme, path=path)
    return Location(scheme="purelib" if root_is_purelib else "platlib", path=member)

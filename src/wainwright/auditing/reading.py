"""One member of a wheel: inflated once, hashed in that pass, and read as ELF where it is one.

Of a large ELF member only what the loader reads is kept, and of what is no ELF nothing: memory does not grow with them.
What reads ELF is imported when the first block of a member is there: threads inflate meanwhile.
"""

from __future__ import annotations

from wainwright.formats.archive import Archive, Entry, MemberError
from wainwright.formats.magic import is_linker_script, looks_like_elf
from wainwright.light import TYPE_CHECKING, Final, dataclass

if TYPE_CHECKING:
    from wainwright.auditing.looking import Interest
    from wainwright.formats.elf import Elf
    from wainwright.formats.symbols import Symbol
    from wainwright.formats.windows import Windows

DENSE: Final = 8 << 20  # ELF files up to this size are kept whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member as it was read. `problem` says why it could not be, `elf_problem` why it is no readable ELF file."""

    name: str
    order: int  # its place in the directory
    size: int
    algorithm: str
    digest: bytes
    elf: Elf | None = None
    symbols: tuple[Symbol, ...] = ()
    extension: bool = False  # Python can import it: it has the module's PyInit function
    problem: str | None = None
    elf_problem: str | None = None
    script: bool = False  # linker commands, where a library's name would have one expect a library


def read_member(archive: Archive, entry: Entry, algorithm: str, interest: Interest) -> Member:
    """Read one member; what is wrong with it is told in the result."""
    first: list[bytes] = []
    windows: list[Windows] = []

    def keep(block: bytes) -> bool:
        first.append(block[:4096])
        return looks_like_elf(block)

    def sink() -> Windows:
        from wainwright.formats.windows import Windows

        windows.append(Windows(entry.size))
        return windows[0]

    elf: Elf | None = None
    symbols: tuple[Symbol, ...] = ()
    extension = False
    problem: str | None = None
    try:
        read = archive.digest(entry, algorithm=algorithm, keep=keep, sink=sink if entry.size > DENSE else None)
        data = windows[0] if windows else read.data
        if data is not None:
            from wainwright.auditing.looking import look

            elf, symbols, extension, problem = look(archive, entry, data, interest)
    except MemberError as error:
        return Member(
            name=entry.name, order=entry.order, size=entry.size, algorithm=algorithm, digest=b"", problem=error.what
        )
    return Member(
        name=entry.name,
        order=entry.order,
        size=entry.size,
        algorithm=algorithm,
        digest=read.hash,
        elf=elf,
        symbols=symbols,
        extension=extension,
        elf_problem=problem,
        script=elf is None and ".so" in entry.name and bool(first) and is_linker_script(first[0]),
    )

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import native
import wainwright
from judging import OLD, UNTAGGED, extension
from wainwright.cli import main
from wainwright.errors import Exit, WainwrightError

NEW = extension(needs={"libc.so.6": ["GLIBC_2.34"]}, symbols={"dlopen": (False, False, "GLIBC_2.34")})
GOOD = extension()


def wheel(folder: Path, member: bytes = GOOD, name: str = OLD, **others: bytes) -> str:
    members = {"demo/mod.so": member} | {f"demo/{other}.so": data for other, data in others.items()}
    return str(native.wheel(folder / name, members))


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = wheel(tmp_path / "good"), wheel(tmp_path / "bad", NEW)
    broken = tmp_path / "x-1-py3-none-any.whl"
    broken.write_bytes(b"PK\3\4")
    assert main(["audit", good]) == Exit.RIGHT
    assert main(["audit", good, bad]) == Exit.FELL_SHORT
    capsys.readouterr()
    assert main(["audit", bad, str(broken), good]) == Exit.USAGE
    out, err = capsys.readouterr()
    assert out.count("GLIBC_2.34") > 1
    assert err.startswith(f"error: {broken}: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("name", ["absent-1-py3-none-any.whl", "demo.zip", ""])
def test_what_is_no_wheel(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(tmp_path / name)]) == Exit.USAGE
    assert capsys.readouterr().err.startswith("error: ")


def test_a_path_with_a_slash_behind_it_is_the_file_s(tmp_path: Path) -> None:
    assert main(["audit", f"{wheel(tmp_path)}//"]) == Exit.RIGHT


def test_json_is_all_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--json", wheel(tmp_path, NEW), str(tmp_path / "no-1-py3-none-any.whl")]) == Exit.USAGE
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == 1
    assert [each["rule"] for each in found["wheels"][0]["violations"]] == ["symbol-version"]
    assert found["errors"][0]["wheel"] == "no-1-py3-none-any.whl"


def test_a_claim_by_option(tmp_path: Path) -> None:
    path = wheel(tmp_path, NEW, UNTAGGED)
    assert main(["audit", path]) == Exit.RIGHT
    assert main(["audit", path, "--glibc", "2.33"]) == Exit.FELL_SHORT
    assert main(["audit", path, "--glibc=2_34"]) == Exit.RIGHT


def test_exclude(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs = wheel(tmp_path / "1", extension(needed=("libc.so.6", "libdep.so.1", "libcuda.so.1")))
    plain = wheel(tmp_path / "2")
    assert main(["audit", needs, "--exclude", "libdep.so.*", "--exclude", "libcuda.so.1"]) == Exit.RIGHT
    assert "libdep.so.* matched libdep.so.1" in capsys.readouterr().out
    assert main(["audit", needs, plain, "--exclude", "libdep*", "--exclude", "libcuda*"]) == Exit.RIGHT
    assert main(["audit", needs, "--exclude", "libdep.so", "--exclude", "libcuda*"]) == Exit.FELL_SHORT
    assert "libdep.so matches no needed library; near are libdep.so.1" in capsys.readouterr().out


def test_allow_and_deny(tmp_path: Path) -> None:
    path = wheel(tmp_path, extension(rpath="/build", stack=7))
    assert main(["audit", path]) == Exit.FELL_SHORT
    assert main(["audit", path, "--allow", "executable-stack"]) == Exit.RIGHT
    assert main(["audit", path, "--allow", "executable-stack", "--deny", "absolute-rpath"]) == Exit.FELL_SHORT


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit"], "WHEEL"),
        (["audit", "x.whl", "--glibc", "new"], "'new' is not a glibc version"),
        (["audit", "x.whl", "--deny", "absolute-path"], "near are absolute-rpath"),
        (["audit", "x.whl", "--excluded", "x"], "--excluded"),
    ],
)
def test_bad_arguments_are_one_error(arguments: list[str], said: str) -> None:
    with pytest.raises(WainwrightError, match=said) as caught:
        main(arguments)
    assert caught.value.code == Exit.USAGE


def test_the_report_names_what_sets_the_floor_and_what_is_above_the_claim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = extension(needs={"libc.so.6": ["GLIBC_2.7", "GLIBC_2.14", "GLIBC_2.17"]})
    older = extension(needs={"libc.so.6": ["GLIBC_2.7"]})
    main(["audit", wheel(tmp_path, NEW, old=old, older=older)])
    assert (
        capsys.readouterr().out
        == f"""\
{OLD}
  claims    manylinux_2_17_x86_64
  measured  manylinux_2_34_x86_64 (GLIBC 2.34)
    set by  GLIBC_2.34 of libc.so.6 (dlopen): demo/mod.so
  above the claim
    demo/mod.so
      libc.so.6
        GLIBC_2.34  dlopen
  libraries
    by policy libc.so.6
  lower tags
    below manylinux_2_34_x86_64
      GLIBC_2.34 of libc.so.6 (dlopen): demo/mod.so
    below manylinux_2_17_x86_64, and below 2_14
      GLIBC_2.17 to GLIBC_2.14 of libc.so.6: demo/old.so
    below manylinux_2_7_x86_64
      GLIBC_2.7 of libc.so.6: demo/old.so, demo/older.so
  violations
    symbol-version: 1 need above the claim, as listed
      hint: glibc 2.34 and later do: build in an older image, or raise the tag; the lowest tag that fits the whole \
wheel is manylinux_2_34_x86_64
  falls short: 1 violation; the lowest tag that fits its symbols is manylinux_2_34_x86_64
"""
    )


def test_help_needs_little(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--help"]) == Exit.RIGHT
    assert "--exclude PATTERN" in capsys.readouterr().out
    code = (
        "import resource, sys; from wainwright.__main__ import main; main(['audit', '--help']);"
        "usage = resource.getrusage(resource.RUSAGE_SELF);"
        "heavy = {'wainwright.auditing.audit', 'packaging', 'isal', 'hashlib', 'json', 'auditwheel'};"
        "heavy &= set(sys.modules);"
        "print(usage.ru_utime + usage.ru_stime, heavy or '', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, *heavy = done.stderr.split()
    assert heavy == []
    assert float(seconds) < 0.15


def test_an_audit_imports_nothing_that_takes_longer_than_small_wheels(tmp_path: Path) -> None:
    code = (
        "import sys; before = {*sys.modules}; from wainwright.__main__ import main; main(sys.argv[1:]);"
        "print(*{*sys.modules} - before, file=sys.stderr)"
    )
    # An editable install imports some of them before anything else.
    path = os.pathsep.join([str(Path(wainwright.__file__).parents[1]), sysconfig.get_path("purelib")])
    argv = [sys.executable, "-S", "-c", code, "audit", wheel(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path})
    assert "keeps its claim" in done.stdout
    modules = set(done.stderr.split())
    assert "wainwright.auditing.audit" in modules
    slow = "typing dataclasses inspect logging concurrent.futures pathlib zipfile csv email auditwheel"
    assert not modules & {*slow.split()}


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_output_that_cannot_be_written_is_one_error(tmp_path: Path, options: list[str]) -> None:
    argv = [sys.executable, "-m", "wainwright", "audit", *options, wheel(tmp_path)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == Exit.ENGINE
    assert done.stderr.splitlines()[0] == "error: No space left on device"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_letters_that_the_terminal_lacks_are_escaped(tmp_path: Path, encoding: str) -> None:
    path = wheel(tmp_path)
    argv = [sys.executable, "-m", "wainwright", "diff", "--markdown", path, path]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u2192" in done.stdout


@pytest.mark.parametrize("words", [["audit"], ["audit", "--json"], ["retag"]])
def test_a_closed_output_is_no_mistake(tmp_path: Path, words: list[str]) -> None:
    argv = [sys.executable, "-m", "wainwright", *words, wheel(tmp_path)]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *argv], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_as_ctrl_c_does(tmp_path: Path, number: signal.Signals) -> None:
    path = wheel(tmp_path, zeros=bytes(1 << 28))
    process = subprocess.Popen(
        [sys.executable, "-m", "wainwright", "audit", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    tasks = Path(f"/proc/{process.pid}/task")
    while len(list(tasks.iterdir())) < 2:  # until it reads
        assert process.poll() is None
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (Exit.INTERRUPTED, "")
    assert err.startswith("interrupted")


def test_a_wheel_that_is_not_named_where_there_is_no_release(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wainwright", "audit"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == Exit.USAGE
    assert done.stderr.splitlines() == [
        "error: the following arguments are required: WHEEL",
        "hint: wainwright audit --help",
    ]


def test_what_is_allowed_is_not_called_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = wheel(tmp_path, NEW)
    assert main(["audit", "--allow", "symbol-version", path]) == Exit.RIGHT
    told = capsys.readouterr().out.splitlines()[-1]
    assert told == (
        "  falls short where that is allowed (symbol-version); "
        "the lowest tag that fits its symbols is manylinux_2_34_x86_64"
    )


@pytest.mark.parametrize("platform", ["win_amd64", "macosx_11_0_arm64"])
def test_a_wheel_of_another_system_was_not_judged(
    tmp_path: Path, platform: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = wheel(tmp_path, b"MZ", f"demo-1.0-cp310-cp310-{platform}.whl")
    assert main(["audit", path]) == Exit.RIGHT
    told = capsys.readouterr().out
    assert f"no policy is known for {platform}" in told
    assert told.splitlines()[-1] == "  was not judged: no policy is known for its tags"
    assert main(["audit", "--deny", "unjudged-tag", path]) == Exit.FELL_SHORT


def test_where_nothing_can_be_read_nothing_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--json", wheel(tmp_path, GOOD[:80])]) == Exit.FELL_SHORT
    (found,) = json.loads(capsys.readouterr().out)["wheels"]
    assert found["measured"] == {"tag": None, "glibc": None, "versions": {}}


def test_too_little_memory_is_one_error(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from wainwright.__main__ import main;"
        "import wainwright.auditing.judging, wainwright.auditing.examining, wainwright.auditing.rendering;"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + (4 << 20);"
        "resource.setrlimit(resource.RLIMIT_AS, (used, used)); sys.exit(main(sys.argv[1:]))"
    )
    large = wheel(tmp_path, GOOD + os.urandom(7 << 20))
    done = subprocess.run([sys.executable, "-c", code, "audit", large], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (Exit.ENGINE, 1)

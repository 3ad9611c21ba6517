"""The shell script that stands where a build looks for gcc, and gives zig what it understands of gcc's flags."""

from __future__ import annotations

import shlex
from pathlib import PurePath
from typing import Final

# Debian's, Fedora's and conda's Pythons hand gcc's own flags to every extension; zig's front end stops at each one that
# it does not know. Left out: what only tunes, warns or speeds up. What means something is kept: zig itself refuses it.
SCRIPT: Final = r"""#!/bin/sh
# zig as a compiler for {target}. Written by wainwright; what it leaves out is listed below.
ZIG_GLOBAL_CACHE_DIR={global_cache} ZIG_LOCAL_CACHE_DIR={local_cache}
export ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR

say() {{ echo "wainwright: $1 is left out: $2" >&2; }}

# Gives in $kept what zig's linker knows of -Wl,A,B,...; words that belong together may come in several arguments.
linker() {{
  kept= flags=${{1#-Wl,}}
  before=$IFS; IFS=,; set -f
  set -- $flags
  set +f; IFS=$before
  for word do
    if [ "$skip_word" ]; then skip_word=; continue; fi
    if [ "$z" ]; then z= word=-z$word; fi
    case $word in
      -z) z=1 ;;
      -zpack-relative-relocs|-zseparate-code|-znoseparate-code|-zmuldefs|-zibt|-zshstk|-zcet-report=*) ;;
      -zstart-stop-gc|-znostart-stop-gc|-zseparate-loadable-segments|-zseparate-segment|-zcombreloc) ;;
      -z*) kept=$kept,-z,${{word#-z}} ;;
      --exclude-libs|-Map|--Map|-rpath-link|--rpath-link) skip_word=1 ;;
      -plugin|--plugin|-plugin-opt|--plugin-opt|-assert) skip_word=1 ;;
      --exclude-libs=*|-Map=*|--Map=*|-rpath-link=*|--rpath-link=*|-plugin*|--plugin*|-flto*|--print-map) ;;
      -O*|--no-keep-memory|--icf=*|--relax|--no-relax|--warn-*|--no-warn-*|--sort-section=*) ;;
      -Bsymbolic-functions|--default-symver|--add-needed|--no-add-needed) ;;
      --copy-dt-needed-entries|--no-copy-dt-needed-entries|--push-state|--pop-state) ;;
      --package-metadata=*|--threads|--threads=*|--no-threads|--thread-count=*|--gnu-unique|--no-gnu-unique) ;;
      --orphan-handling=*|--error-limit=*|--no-tls-optimize|--unresolved-symbols=ignore-*) ;;
      --reduce-memory-overheads|--hash-size=*|--stats|--undefined-version|--no-undefined-version) ;;
      --no-ld-generated-unwind-info) ;;
      *) kept=$kept,$word ;;
    esac
  done
  kept=${{kept:+-Wl$kept}}
}}

# Headers that pip unpacked for this build lie in a folder of a new name each time: $map is that folder.
note_map() {{
  case $1 in
    */pip-build-env-*/*) rest=${{1#*/pip-build-env-}} map=${{1%%/pip-build-env-*}}/pip-build-env-${{rest%%/*}} ;;
  esac
}}

map= z= skip_word= skip= xlinker= folder=
for arg do
  shift
  if [ "$skip" ]; then skip=; continue; fi
  if [ "$xlinker" ]; then xlinker= arg=-Wl,$arg; fi
  if [ "$folder" ]; then  # -I DIR is -IDIR
    case $folder in -I|-L) arg=$folder$arg folder= ;; esac
  fi
  if [ "$folder" ]; then
    word=$folder folder=
    case $arg in {headers}) continue ;; esac
    note_map "$arg"
    set -- "$@" "$word" "$arg"
    continue
  fi
  case $arg in
    -I*/pip-build-env-*/*) note_map "${{arg#-I}}" ;;
    -I|-L|-isystem|-idirafter) folder=$arg; continue ;;
    -Xlinker) xlinker=1; continue ;;
    -Wl,*) linker "$arg"; [ "$kept" ] || continue; arg=$kept ;;
    -march=native|-mcpu=native|-mtune=native) say "$arg" "a wheel is for other machines too"; continue ;;
    -mtune=*) continue ;;  # zig reads it as -mcpu
    -march=x86-64*) arg=-march=x86_64${{arg#-march=x86-64}}
      case $arg in *-v?) arg=${{arg%-v?}}_v${{arg##*-v}} ;; esac ;;
    -target) skip=1; continue ;;
    --target=*|-specs=*|-fuse-ld=*|-static-libgcc|-static-libstdc++) continue ;;
    -fuse-linker-plugin|-fno-use-linker-plugin) continue ;;
    -flto|-flto=*|-ffat-lto-objects|-fno-fat-lto-objects|-fno-lto|-flto-partition=*) continue ;;
    -fvar-tracking*|-fno-var-tracking*|-fgnu-unique|-fno-gnu-unique|-fipa-*|-fno-ipa-*|-mindirect-branch=*) continue ;;
    -mfunction-return=*|-fno-printf-return-value|-fno-tree-*|-ftree-*|-fgraphite*|-floop-*) continue ;;
    {foreign}) continue ;;
    -I/usr/include|-I/usr/include/|-I/include|-I/usr/include/*-linux-gnu*) case $arg in
      */python*) ;;
      *) continue ;;
      esac ;;
    -L/usr/lib|-L/usr/lib/|-L/usr/lib64|-L/usr/lib64/|-L/lib|-L/lib/|-L/lib64|-L/lib64/) continue ;;
    -L/usr/lib/*-linux-gnu*|-L/lib/*-linux-gnu*) continue ;;
    # This machine's own glibc by its path, as CMake finds it: a newer one than the wheel is for.
    /lib*/lib*|/usr/lib*/lib*)
      name=${{arg##*/}} name=${{name#lib}}
      case $name in *.so|*.so.[0-9]|*.a) case ${{name%%.*}} in
        c|m|pthread|dl|rt|util|resolv) arg=-l${{name%%.*}} ;;
        stdc++|gcc_s) arg=-l${{name%%.*}} ;;
      esac ;; esac ;;
  esac
  set -- "$@" "$arg"
done
exec {zig} {verb} -target {target} -fno-sanitize=undefined -Wno-unused-command-line-argument \
  -ffile-prefix-map="$PWD"=. -ffile-prefix-map={root}=. ${{map:+"-ffile-prefix-map=$map=/build-env"}} \
  "$@" -idirafter {include}
"""

_HEADERS: Final = "/usr/include|/usr/include/|/include|/usr/include/*-linux-gnu*"


def compiler(verb: str, *, zig: PurePath, target: str, root: PurePath, tools: PurePath, global_cache: PurePath) -> str:
    """Write the script for `verb`, cc or c++. Paths below `root`, the job's own folder, appear in no output."""
    return SCRIPT.format(
        verb=verb,
        zig=shlex.quote(str(zig)),
        target=target,
        root=shlex.quote(str(root)),
        include=shlex.quote(str(tools / "include")),
        global_cache=shlex.quote(str(global_cache)),
        local_cache=shlex.quote(str(tools / "zig-cache")),
        headers=_HEADERS,
        foreign="-mbranch-protection=*" if not target.startswith("aarch64") else "-fcf-protection|-fcf-protection=*",
    )

#!/bin/bash
# usage: bash build.sh PYTHON [-I FOLDER]...   builds the floor modules for that interpreter, beside this file.
# dlpack.h comes from the -I folders first, then from lend's own copy in this repository.
set -euo pipefail
cd "$(dirname "$0")"
python=$1
shift
include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
numpy=$("$python" -c 'import numpy; print(numpy.get_include())')
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
lend=../../src/lend
flags=(-shared -fPIC -Wall -Wno-unused-function "$@" -I"$include" -I"$numpy" -I$lend/_core -I$lend/include -I$lend/include/dlpack)
gcc -O3 "${flags[@]}" peersfloor.c -o "peersfloor$suffix"
gcc -O2 "${flags[@]}" -I"$("$python" -c 'import lend; print(lend.get_include())')" from_c.c -o "from_c$suffix"
if [ "$(uname -m)" = x86_64 ]; then
  gcc -O3 -fPIC -Wall -c baseline.c -o baseline.o
  gcc -O3 -march=x86-64-v3 "${flags[@]}" kernelfloor.c baseline.o -o "kernelfloor$suffix"
  rm baseline.o
fi
if [ -f /usr/include/valgrind/callgrind.h ]; then
  gcc -O2 "${flags[@]}" countmarks.c -o "countmarks$suffix"
fi

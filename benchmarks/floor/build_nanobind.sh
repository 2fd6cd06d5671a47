#!/bin/bash
# usage: bash build_nanobind.sh PYTHON   builds the nanobind peer, if that interpreter has nanobind (about half a minute)
set -euo pipefail
cd "$(dirname "$0")"
python=$1
nanobind=$("$python" -c 'import nanobind; print(nanobind.__path__[0])')
include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
g++ -O2 -DNDEBUG -std=c++17 -fPIC -fvisibility=hidden -fno-strict-aliasing -shared -I"$include" \
  -I"$nanobind/include" -I"$nanobind/ext/robin_map/include" nanobind_peer.cpp "$nanobind/src/nb_combined.cpp" \
  -o "nanobind_peer$suffix"

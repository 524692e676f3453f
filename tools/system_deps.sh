#!/usr/bin/env bash
# Finds what the build needs from the system and pip cannot give: a compiler, Python's headers, doctest.
# Root: installs what is missing. Others: prints the command and stops.
set -euo pipefail
python=${1:?the Python to build for}
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

missing=()
command -v g++ >/dev/null || missing+=(g++)
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=("python$version-venv")
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
  missing+=("python$version-dev")
echo '#include <doctest/doctest.h>' | "${CXX:-g++}" -x c++ -E - >/dev/null 2>&1 || missing+=(doctest-dev)

if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi
echo "missing on this machine: ${missing[*]}"
if ! command -v apt-get >/dev/null; then
  echo "install these (Debian's names) with this system's package manager, then run make again"
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "run: sudo apt-get install -y --no-install-recommends ${missing[*]}"
  exit 1
fi
# ccache and mold are not needed, they save minutes.
apt-get update -q
apt-get install -y -q --no-install-recommends "${missing[@]}"
apt-get install -y -q --no-install-recommends ccache mold || echo "ccache and mold were not installed: builds take longer"

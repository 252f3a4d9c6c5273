#!/usr/bin/env bash
# Formats the lines of C++ that you changed, by .clang-format; the rest of the tree stays as it is.
#
# usage: scripts/format.sh [--check] [COMMIT]
#   --check   change nothing; print the difference and exit 1 if there is one
#   COMMIT    changed since then (default HEAD: what is not committed; new files after `git add`)
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
fi
command -v git-clang-format-19 > /dev/null || { echo "format: clang-format-19 is missing; run scripts/setup.sh lint" >&2; exit 2; }
options=()
if [[ ${1:-} == --check ]]; then
    options=(--diff)
    shift
fi
exec git-clang-format-19 --binary "$(command -v clang-format-19)" --style file --extensions cpp,hpp --force "${options[@]}" "${1:-HEAD}"

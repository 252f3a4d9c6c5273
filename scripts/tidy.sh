#!/usr/bin/env bash
# Runs clang-tidy over the .cpp files that you changed, each by itself (preset alone).
#
# usage: scripts/tidy.sh [COMMIT | FILE...]
#   COMMIT    changed since then (default HEAD: what is not committed)
#   FILE...   these files instead
# CRAB_BUILD names another build folder.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
fi
fail() { echo "tidy: $*" >&2; exit 2; }
command -v clang-tidy-19 > /dev/null || fail "clang-tidy-19 is missing; run scripts/setup.sh lint"
build=${CRAB_BUILD:-build/alone}
[[ -n ${CRAB_BUILD:-} ]] || cmake --preset alone --log-level=WARNING > /dev/null ||
    fail "cmake --preset alone failed; the message above says why"
[[ -f $build/compile_commands.json ]] || fail "$build is not configured"
if [[ -f ${1:-} ]]; then
    files=("$@")
else
    mapfile -t files < <({
        git diff --name-only --diff-filter=d "${1:-HEAD}"
        git ls-files --others --exclude-standard
    } | grep '\.cpp$' | sort -u)
fi
((${#files[@]})) || { echo "tidy: no .cpp file changed"; exit 0; }
echo "tidy: ${#files[@]} files"
printf '%s\n' "${files[@]}" | xargs -P "$(scripts/build_jobs.sh)" -n 1 \
    clang-tidy-19 -p "$build" --quiet --warnings-as-errors='*'

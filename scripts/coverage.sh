#!/usr/bin/env bash
# Builds with coverage, runs the tests, prints coverage by file, and writes pages to
# build/coverage/html.
#
# usage: scripts/coverage.sh [CTEST-OPTION...]
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
fi
build=$PWD/build/coverage
cmake --preset coverage --log-level=WARNING
cmake --build --preset coverage "-j$(scripts/build_jobs.sh)"
rm -rf "$build/profiles"
# %p: each process its own file.
LLVM_PROFILE_FILE="$build/profiles/%p-%m.profraw" ctest --preset coverage "-j$(nproc)" "$@" ||
    echo "coverage: some tests failed; the figures are of those that ran"
find "$build/profiles" -name '*.profraw' > "$build/profiles.txt"
llvm-profdata-19 merge -sparse -f "$build/profiles.txt" -o "$build/crab.profdata"
objects=()
while read -r program; do objects+=(-object "$program"); done < <(
    find "$build" -type f -perm -u+x \( -name '*_test' -o -name '*_fuzz' -o -name crab \) \
        -not -path '*/CMakeFiles/*')
options=(-instr-profile "$build/crab.profdata"
    -ignore-filename-regex '(_test|_bench|_fuzz)\.cpp|/test_\w+\.hpp|/usr/|/tests/')
llvm-cov-19 show "${objects[@]:1}" "${options[@]}" -format html \
    -output-dir "$build/html" src include > /dev/null
llvm-cov-19 report "${objects[@]:1}" "${options[@]}" src include
echo "coverage: line by line in $build/html/index.html"

#!/usr/bin/env bash
# Builds the documentation site from the tree's Markdown (mkdocs) and the API reference of
# include/crab (Doxygen), without warnings, and checks that every link and anchor leads somewhere
# and that no page asks another server for anything.
#
# usage: scripts/docs.sh [DIR]
#   DIR   the folder to make (default: build/docs/site; what was there before is replaced)
# Serve it from any static web server; for a look: python3 -m http.server -d build/docs/site
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
fi
for program in mkdocs doxygen; do
    command -v "$program" > /dev/null ||
        { echo "docs: $program is missing; scripts/setup.sh installs it" >&2; exit 1; }
done
site=$(realpath -m "${1:-build/docs/site}")
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT

mkdir -p "$(dirname "$site")"
# Debian's mkdocs belongs to Debian's Python.
/usr/bin/python3 scripts/make_site.py build "$pages" "$site"
(cat scripts/site/Doxyfile && echo "OUTPUT_DIRECTORY = $site") | doxygen -
/usr/bin/python3 scripts/make_site.py check "$site"

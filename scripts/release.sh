#!/usr/bin/env bash
# Builds the Debian packages of a commit from a copy of its tree, and lets lintian look at them: no
# error, no warning. They are then in build/packages, with SHA256SUMS.
#
# usage: scripts/release.sh [--twice] [--cache] [COMMIT]
#   COMMIT    HEAD where none is given; what is not committed is not in them
#   --twice   builds a second time, in another folder, and compares: every byte has to be the same
#   --cache   uses the compiler cache, which makes a second build quick, and no proof
#   Needs scripts/setup.sh with the kinds build, library, web and release, and npm's registry once.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "release: $*" >&2; exit 1; }
step() { printf '\n== %s\n' "$*"; }

twice='' cache=OFF commit=HEAD
for word in "$@"; do
    case $word in
        -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
        --twice) twice=yes ;;
        --cache) cache=$(command -v ccache) || fail "no ccache here" ;;
        -*) fail "no option $word; --help says what there is" ;;
        *) commit=$word ;;
    esac
done
commit=$(git rev-parse --verify --quiet "$commit^{commit}") || fail "no such commit"

for program in dpkg-buildpackage dh lintian; do
    command -v $program > /dev/null ||
        fail "no $program: scripts/setup.sh build library release installs what is needed"
done
[[ -z $(git status --porcelain --untracked-files=no) ]] ||
    echo "release: what is not committed is left out" >&2

# Folders of different length, so that a path which gets into the packages shows.
top=$PWD/build/release-packages

# build FOLDER: the packages of the commit, in FOLDER.
build() {
    rm -rf "$1"
    mkdir -p "$1/crab"
    git archive "$commit" | tar -x -C "$1/crab"
    # npm ci gives what the lock file pins, so what is here already for the same file will do.
    if cmp -s package-lock.json "$1/crab/package-lock.json" &&
        [[ -e node_modules/.package-lock.json ]]; then
        cp -a --reflink=auto node_modules "$1/crab/"
        touch "$1/crab/node_modules/.package-lock.json"
    fi
    (
        cd "$1/crab"
        export CRAB_CCACHE=$cache CCACHE_BASEDIR=$1/crab LC_ALL=C.UTF-8 TZ=UTC
        dpkg-buildpackage --build=binary --no-sign > "$1/log" 2>&1
    ) || { tail -n 40 "$1/log" >&2; fail "the build failed; all it said is in $1/log"; }
}

step "Build: $(git log -1 --format='%h %s' "$commit")"
build "$top/first"

if [[ $twice ]]; then
    step "Build again"
    build "$top/second-time"
    for package in "$top"/first/*.deb; do
        cmp "$package" "$top/second-time/${package##*/}" || fail "the two builds differ"
    done
    echo "every package is the same, byte for byte"
fi

step "lintian"
lintian --fail-on error,warning "$top"/first/*.changes || fail "lintian has something to say"

step "Packages"
rm -rf build/packages
mkdir -p build/packages
cp "$top"/first/*.deb "$top"/first/*.changes "$top"/first/*.buildinfo build/packages/
(cd build/packages && sha256sum -- *.deb > SHA256SUMS)
for package in build/packages/*.deb; do
    dpkg-deb -W --showformat='${Package} ${Version}, ${Installed-Size} KiB installed\n' "$package"
done
most=$((12 * 1024))
size=$(dpkg-deb -f build/packages/crab_*.deb Installed-Size)
((size < most)) || fail "crab takes $size KiB; $most is the most"

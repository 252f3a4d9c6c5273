#!/usr/bin/env bash
# Installs the Debian packages that are missing; says what it does, and does nothing when nothing is
# missing.
#
# usage: scripts/setup.sh [KIND...]
#   KIND   kinds of packages.txt to install; without any: build library test run, and web unless
#          Node.js 18 or newer and npm are on PATH. bench, lint and release are for
#          `bench/run`, scripts/tidy.sh and scripts/release.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
fi
fail() { echo "setup: $*" >&2; exit 1; }

# A Node.js that is here already may come from elsewhere, with an npm that Debian's package would
# fight with.
has_node() {
    command -v npm > /dev/null || return
    node -e 'process.exit(process.versions.node.split(".")[0] >= 18 ? 0 : 1)' 2> /dev/null
}

kinds=" ${*:-build library test run} "
(($# > 0)) || has_node || kinds+="web "
wanted=()
while read -r package kind _; do
    [[ $package == "" || $package == \#* ]] && continue
    [[ $kinds == *" ${kind%:} "* ]] && wanted+=("$package")
done < packages.txt
((${#wanted[@]})) || fail "packages.txt has no package of kind$kinds"

command -v dpkg-query > /dev/null ||
    fail "this is no Debian system. Install what packages.txt names by other means, then use" \
        "cmake --workflow --preset dev"

missing=()
for package in "${wanted[@]}"; do
    # ${db:Status-Status}: a package that was removed is still known, as config-files, and one that
    # others only mention as not-installed. With several architectures there is a line for each.
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2> /dev/null | grep -qx installed ||
        missing+=("$package")
done
if ((${#missing[@]} == 0)); then
    echo "setup: all ${#wanted[@]} packages are installed"
    exit 0
fi

echo "setup: ${#missing[@]} of ${#wanted[@]} packages are missing: ${missing[*]}"
as_root=()
if ((EUID != 0)); then
    command -v sudo > /dev/null ||
        fail "installing packages needs root, and there is no sudo. As root:" \
            "apt-get install ${missing[*]}"
    as_root=(sudo)
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0)
echo "setup: apt-get update"
"${apt[@]}" update ||
    fail "apt-get update failed (above); check the network and /etc/apt/sources.list"
echo "setup: apt-get install --no-install-recommends ${missing[*]}"
"${apt[@]}" install --no-install-recommends "${missing[@]}" ||
    fail "apt-get install failed (above). crab is built on Debian 12 (bookworm)" \
        "with its updates and security archives"
echo "setup: done"

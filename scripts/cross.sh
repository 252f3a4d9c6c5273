#!/usr/bin/env bash
# Builds crab for arm64 on this machine, against Debian's packages of the other one, and runs unit
# tests of what it built under qemu.
#
# usage: scripts/cross.sh [TARGET...]
#   TARGET  what to build in build/arm64 (default: crab, and the tests of base, json, crypto, net
#           and core); programs named *_test are run
#   Needs scripts/setup.sh with the kinds build, library and release, and a mirror of Debian.
#   The libraries are unpacked in build/sysroot-arm64; nothing is installed. `rm -r` both folders
#   to begin anew.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
fi
fail() { echo "cross: $*" >&2; exit 1; }
step() { printf '\n== %s\n' "$*"; }

for program in mmdebstrap qemu-aarch64-static mold; do
    command -v $program > /dev/null || fail "no $program: scripts/setup.sh build release"
done
targets=("$@")
((${#targets[@]})) || targets=(crab base_test json_test crypto_test net_test core_test)

sysroot=$PWD/build/sysroot-arm64
if [[ ! -d $sysroot ]]; then
    step "Libraries of arm64"
    wanted=$(awk '$2 == "library:" { print $1 }' packages.txt | paste -sd,)
    # those that tests and the language itself need
    wanted+=,libgtest-dev,libgmock-dev,libbenchmark-dev,libprotobuf-dev,libstdc++-12-dev,libc6-dev
    mkdir -p build
    rm -rf "$sysroot.part"
    mmdebstrap --quiet --variant=extract --architectures=arm64 --include="$wanted" \
        bookworm "$sysroot.part"
    mv "$sysroot.part" "$sysroot"
fi

step "Build for arm64: ${targets[*]}"
# The pages are the same on every machine, and are tested with `dev`.
cmake --preset dev -B build/arm64 --log-level=WARNING -DCRAB_WEB=OFF \
    -DCMAKE_TOOLCHAIN_FILE=cmake/CrabCross.cmake -DCRAB_SYSROOT="$sysroot"
cmake --build build/arm64 -j"$(scripts/build_jobs.sh)" --target "${targets[@]}"

for target in "${targets[@]}"; do
    program=$(find build/arm64 -name "$target" -type f -perm /100 | head -n 1)
    if [[ $target == *_test ]]; then
        step "$target"
        qemu-aarch64-static -L "$sysroot" "$program" --gtest_brief=1 ||
            fail "$target fails under qemu"
    elif [[ $target == crab ]]; then
        step "crab version"
        qemu-aarch64-static -L "$sysroot" "$program" version
    fi
done

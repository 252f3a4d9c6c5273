#!/usr/bin/env bash
# Builds crab for arm64 on this machine, against Debian's packages of the other one, and runs unit
# tests of what it built under qemu.
#
# usage: scripts/cross.sh [TARGET...]
#   TARGET  what to build in build/arm64 (default: crab, and the tests of base, json, crypto, net
#           and core); programs named *_test are run, and of crab a gateway, which is called
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
# try_gateway PROGRAM: it starts, writes, finds what it has written, and ends.
try_gateway() {
    local folder ready='' gateway crab=(qemu-aarch64-static -L "$sysroot" "$1")
    "${crab[@]}" --version
    folder=$(mktemp -d)
    mkdir -m 700 "$folder/state" "$folder/run"
    cat > "$folder/gateway.yaml" << END
gateway: {state_dir: "$folder/state", runtime_dir: "$folder/run"}
listen: {public: "127.0.0.1:0"}
built_in_hosts: {memory: true}
END
    touch "$folder/out"
    "${crab[@]}" gateway run --config "$folder/gateway.yaml" > "$folder/out" 2> "$folder/log" &
    gateway=$!
    for _ in {1..60}; do
        grep -q '^crab gateway ready' "$folder/out" && ready=yes && break
        sleep 1
    done
    crab+=(--socket "$folder/run/admin.sock")
    local found=''
    if [[ $ready ]]; then
        "${crab[@]}" call memory.append '{"entries": [{"text": "made on another machine"}]}' &&
            found=$("${crab[@]}" call memory.query --arg query=another)
    else
        cat "$folder/log" >&2
    fi
    kill "$gateway"
    wait "$gateway" || { echo "its exit status is $?" >&2; found=''; }
    rm -r "$folder"
    echo "$found"
    [[ $found == *"made on another machine"* ]]
}

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

# qemu's user mode makes processes in another way than a kernel (groups, what a failed start says),
# starts no second program of that machine, and is slow: bounds of time say nothing under it.
not_here='Child.*:Subprocess.*:*DeathTest.*:SchemaLimits.StepsThatLookAtMuchCountForMore'
for target in "${targets[@]}"; do
    program=$(find build/arm64 -name "$target" -type f -perm /100 | head -n 1)
    if [[ $target == *_test ]]; then
        step "$target"
        qemu-aarch64-static -L "$sysroot" "$program" --gtest_brief=1 \
            --gtest_filter="-$not_here" || fail "$target fails under qemu"
    elif [[ $target == crab ]]; then
        step "crab: a gateway that is called"
        try_gateway "$program" || fail "the gateway fails under qemu"
    fi
done

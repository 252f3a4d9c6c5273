#!/usr/bin/env bash
# Prints how many compilers may run at once: one per core, and 1.5 GiB of memory for each.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2s/^# //p' "$0"
    exit 0
fi
cores=$(nproc)
kib=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
limit=$(cat /sys/fs/cgroup/memory.max 2> /dev/null ||
    cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2> /dev/null || echo max)
[[ $limit =~ ^[0-9]{1,15}$ ]] && ((limit / 1024 < kib)) && kib=$((limit / 1024))
jobs=$((kib / (1536 * 1024)))
((jobs < cores)) || jobs=$cores
echo $((jobs < 1 ? 1 : jobs))

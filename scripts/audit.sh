#!/usr/bin/env bash
# Says which versions that crab is made of, or built by, have known holes: which Debian packages
# have a newer version in the lists of packages that apt fetched last, and what the data in FOLDER
# say. Fetches nothing itself.
#
# usage: scripts/audit.sh [--built PROGRAM] [--data FOLDER]
#   PROGRAM  a built crab; build/release/crab, or else build/dev/crab
#   FOLDER   CRAB_AUDIT_DATA, or else ~/.cache/crab-audit. To fill it, where there is a network:
#              curl -o FOLDER/debian.json https://security-tracker.debian.org/tracker/data/json
#              curl -O https://osv-vulnerabilities.storage.googleapis.com/npm/all.zip
#              unzip -d FOLDER/npm all.zip
#
# Exit status: 0 nothing is known, 1 something is, 2 it could not look, 3 there was no data.
set -euo pipefail
cd "$(dirname "$0")/.."

data=${CRAB_AUDIT_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/crab-audit}
built=
while (($# > 0)); do
    case $1 in
        -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
        --built) built=${2:?--built needs a program}; shift 2 ;;
        --data) data=${2:?--data needs a folder}; shift 2 ;;
        *) echo "audit: what is \`$1\`? --help says what there is" >&2; exit 2 ;;
    esac
done
for program in build/release/crab build/dev/crab; do
    [[ -z $built && -x $program ]] && built=$program
done
[[ -n $built ]] || { echo "audit: no built crab here; cmake --workflow --preset dev" >&2; exit 2; }

# Newer versions that apt knows of: in a stable release nearly all of them mend holes.
newer=0 known=0
while IFS=$'\t' read -r package installed candidate; do
    [[ $candidate == "(none)" ]] && continue
    known=$((known + 1))
    if dpkg --compare-versions "$installed" lt "$candidate"; then
        echo "$package $installed has the newer version $candidate"
        newer=$((newer + 1))
    fi
done < <(sed -n 's/^\([^# ][^ ]*\) .*$/\1/p' packages.txt |
    LC_ALL=C xargs -r apt-cache policy 2> /dev/null |
    awk '/^[^ ]/ {name = $1; sub(/:$/, "", name)}
         $1 == "Installed:" {installed = $2}
         $1 == "Candidate:" && installed != "(none)" {print name "\t" installed "\t" $2}')
lists=$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' -printf '%TY-%Tm-%Td\n' \
    2> /dev/null | sort | tail -1)
if [[ -z $lists ]]; then
    echo "audit: no lists of packages here: nothing is said about newer versions (apt-get update)"
else
    echo "audit: $newer of $known installed packages have a newer version, by lists of $lists"
fi

status=0
scripts/known_holes.py --built "$built" --data "$data" || status=$?
if ((status == 3)); then
    echo "audit: no data on holes in $data: scripts/audit.sh --help says how to fetch them"
fi
((newer > 0)) && status=1
exit $status

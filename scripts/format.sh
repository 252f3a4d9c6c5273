#!/usr/bin/env bash
# Formats the whole tree: C++ by .clang-format, Python by black. Then says which lines of code and
# prose have more than 100 columns (scripts/check_columns.py), and exits 1 if there are any.
#
# usage: scripts/format.sh [--check]
#   --check   change nothing; say what is off, and exit 1 if anything is
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
fi
for program in clang-format-19 black; do
    command -v $program > /dev/null ||
        { echo "format: $program is missing; run scripts/setup.sh" >&2; exit 2; }
done
cpp=(clang-format-19 --style=file -i)
python=(black -q -l 100 -S -t py311)
if [[ ${1:-} == --check ]]; then
    cpp=(clang-format-19 --style=file --dry-run -Werror)
    python=(black -q -l 100 -S -t py311 --check --diff)
fi

# Every file, each with a zero byte after it: what git knows, or in an export what is there.
all_files() {
    if [[ -e .git ]]; then
        git ls-files -z --cached --others --exclude-standard
    else
        find . \( -path ./build -o -name node_modules \) -prune -o -type f -printf '%P\0'
    fi
}
sources=() scripts=()
while IFS= read -r -d '' file; do
    [[ -f $file && ! -L $file ]] || continue
    case $file in
        *.cpp | *.hpp) sources+=("$file") ;;
        *.py) scripts+=("$file") ;;
        tests/fuzz/corpus/* | */*.*) ;;
        *)
            IFS= read -r first < "$file" 2> /dev/null || true
            [[ $first == '#!'*python* ]] && scripts+=("$file")
            ;;
    esac
done < <(all_files)

status=0
printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 40 "${cpp[@]}" || status=1
"${python[@]}" "${scripts[@]}" || status=1
scripts/check_columns.py || status=1
exit $status

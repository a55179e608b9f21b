#!/bin/sh
# Tunes and explains each planted kernel: tests/planted/run.sh build/tune [FOLDER]. A kernel has one fault or limit, and
# the rule of its name must be named first, or the one behind "Expected:". In controls/, no fault may be named at all.
# FOLDER gets what is said, for fixture.py.
set -eu
tune=$1
here=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
db=$folder/planted.db
out=${2:-$folder}
wrong=0
# Times do not count here, because explain takes them again.
printf '%s\n' "$here"/*.cu "$here"/controls/*.cu |
    xargs -P 4 -I FILE "$tune" --kernel FILE --db "$db" --unverified --max-trials 4 --quiet >/dev/null || :
for file in "$here"/*.cu "$here"/controls/*.cu; do
    name=$(basename "$file" .cu)
    expected=$(sed -n 's|^// Expected: ||p' "$file")
    expected=${expected:-$name}
    "$tune" explain --kernel "$file" --db "$db" --json >"$out/$name.json" || :
    first=$(sed -n 's/.*"findings":\[{"rule":"\([a-z0-9_]*\)".*/\1/p' "$out/$name.json")
    blamed=
    case $file in
    */controls/*) blamed=$(grep -o '"rule":"[a-z0-9_]*","kind":"fault"' "$out/$name.json" || true) ;;
    esac
    echo "$name: ${first:-nothing}${blamed:+, and it has no fault: $blamed}"
    [ "$first" = "$expected" ] && [ -z "$blamed" ] || wrong=$((wrong + 1))
done
echo "$wrong of them wrong"
[ "$wrong" -eq 0 ]

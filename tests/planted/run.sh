#!/bin/sh
# Tunes and explains each planted kernel: tests/planted/run.sh build/tune [FOLDER]. Fails if another rule than the one of
# its name is named first. FOLDER gets what is said, for fixture.py.
set -eu
tune=$1
here=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
db=$folder/planted.db
out=${2:-$folder}
wrong=0
for file in "$here"/*.cu; do
    name=$(basename "$file" .cu)
    "$tune" --kernel "$file" --db "$db" --unverified --max-trials 4 --quiet >/dev/null
    "$tune" explain --kernel "$file" --db "$db" --json >"$out/$name.json"
    first=$(sed -n 's/.*"findings":\[{"rule":"\([a-z0-9_]*\)".*/\1/p' "$out/$name.json")
    echo "$name: ${first:-nothing}"
    [ "$first" = "$name" ] || wrong=$((wrong + 1))
done
echo "$wrong of them wrong"
[ "$wrong" -eq 0 ]

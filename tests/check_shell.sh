#!/usr/bin/env bash
# Lints the shell scripts with shellcheck: check_shell.sh SOURCE_ROOT. Exit 77 (skipped) without shellcheck.
set -euo pipefail
cd "$1"
command -v shellcheck >/dev/null || exit 77
mapfile -t scripts < <(grep -rlIE '^#!.*\b(ba)?sh$' scripts .ci tests examples bench)
shellcheck -x "${scripts[@]}"
echo "${#scripts[@]} scripts"

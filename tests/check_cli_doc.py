#!/usr/bin/env python3
"""check_cli_doc.py TUNE ROOT: docs/cli.md and --help name the same options and commands, docs/cli.md and the manual
page the same environment variables. Commands that other pages show exist, with these options.

The section `tune` has a list of all options of `tune`. The section of another command, `### tune best`, names
the options it takes beside those of the list and those of queries, and no others.
"""
import os
import re
import subprocess
import sys

tune, root = sys.argv[1:]
tune = os.path.abspath(tune)  # it is run in another folder too
text = open(f"{root}/docs/cli.md", encoding="utf-8").read()
wrong = []


def options_of(*command):
    out = subprocess.run([tune, *command, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  (?:-[a-zA-Z], )?--([a-z-]+)", out, re.M)), out


def compare(name, documented, has):
    wrong.extend(f"docs/cli.md lacks --{o} of {name}" for o in sorted(has - documented))
    wrong.extend(f"docs/cli.md has --{o}, which {name} does not" for o in sorted(documented - has))


everywhere = {"help", "version"}  # said in the first paragraph
queries = {"size", "shape", "gpu"}  # said in the first paragraph of queries
main, out = options_of()
rows = re.findall(r"^- (`--.*?`):", text.split("## Queries")[0], re.M)
table = set(re.findall(r"--([a-z-]+)", " ".join(rows)))
compare("tune", table | everywhere, main)

items = dict(re.findall(r"^### tune ([a-z0-9-]+)\n(.*?)(?=^##)", text, re.M | re.S))
commands = re.findall(r"^  ([a-z0-9-]+) ", out.split("Commands:\n")[1].split("\n\n")[0], re.M)
for command in commands:
    if command == "help":
        continue
    if command not in items:
        wrong.append(f"docs/cli.md lacks tune {command}")
        continue
    has, _ = options_of(command)
    named = set(re.findall(r"--([a-z][a-z-]*)", items[command]))
    compare(f"tune {command}", named | (has & (table | everywhere | queries)), has)
wrong.extend(f"docs/cli.md has tune {c}, which is no command" for c in items if c not in commands)
listed = text.split("## Environment variables")[1].split("\n## ")[0]
page = subprocess.run([tune, "help", "--man"], capture_output=True, text=True, check=True).stdout
variables = set(re.findall(r"^- `([A-Z_]+)`", listed, re.M))
on_page = set(re.findall(r"^\.B ([A-Z_]+)$", page.split(".SH ENVIRONMENT")[1], re.M))
wrong.extend(f"docs/cli.md lacks the variable {v}" for v in sorted(on_page - variables))
wrong.extend(f"tune.1 lacks the variable {v}" for v in sorted(variables - on_page))
# The parts of the output for an author that do not depend on this GPU and NVRTC.
shown = open(f"{root}/docs/annotations.md", encoding="utf-8").read().split("## Checking a file")[1].split("```")[1]
command = re.search(r"^\$ build/tune (.*)$", shown, re.M)[1].split()
checked = subprocess.run([tune, *command], cwd=root, capture_output=True, text=True, check=True).stdout
for line in shown.strip().splitlines():
    if not line.startswith(("console", "$", "...", "compiled", "occupancy")) and line.split(" on ")[0] not in checked:
        wrong.append(f"docs/annotations.md shows what tune check does not: {line}")
# Commands in blocks of other pages.
known, shown = {"": main}, 0
for page in "README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/tutorial.md", "docs/faq.md", "docs/study.md", "examples/README.md":
    text = open(f"{root}/{page}", encoding="utf-8").read()
    for line in "".join(block for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S) if language in ("sh", "console")).splitlines():
        line = re.match(r"(?:\$ )?(?:build/)?tune +((?:[^#]|#\S)*)", line)
        if not line or line[0].startswith("tune:"):
            continue
        command = line[1].split(" ")[0] if not line[1].startswith("-") else ""
        if command and command not in commands:
            wrong.append(f"{page}: tune {command} is no command: {line[0]}")
            continue
        known.setdefault(command, None)
        known[command] = known[command] or options_of(command)[0]
        options = set(re.findall(r"(?<!\S)\[?--([a-z][a-z-]*)", line[1]))
        wrong.extend(f"{page}: tune {command} has no --{o}" for o in sorted(options - known[command]))
        shown += 1
said = re.search(r"From the shell: `tune (best [^`]*)`.*?```\n(.*?)```", open(f"{root}/docs/guide.md", encoding="utf-8").read(), re.S)
now = subprocess.run([tune, *said[1].split(), "--db", ":memory:"], capture_output=True, text=True, check=True,
                     env={**os.environ, "TILETUNE_SYSTEM_DB": ""}).stdout
if now != said[2]:
    wrong.append(f"docs/guide.md does not show what tune {said[1]} prints now:\n{now}")
if wrong:
    sys.exit("\n".join(wrong))
print(f"{len(main)} options of tune, {len(commands)} commands, {shown} shown")

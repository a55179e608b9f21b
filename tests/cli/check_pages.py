#!/usr/bin/env python3
"""check_pages.py TUNE: manual pages and completions have what --help has, and the tools that read them agree.

What is installed of bash, zsh, fish, groff and mandoc is asked.
"""
import re
import shutil
import subprocess
import sys
import tempfile

tune = sys.argv[1]


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr}exit {done.returncode}")
    return done.stdout


def page(*words):
    return run(tune, "help", *words)


def options_of(command):
    return set(re.findall(r"^  (?:-h, )?--([a-z-]+)", run(tune, *command, "--help"), re.M))


def check_man(command):
    text = page("--man", *command)
    plain = text.replace("\\-", "-")
    for option in options_of(command):
        assert f"--{option}\\fR" in plain, (command, option)
    assert not re.search(r"^[.'](?!SH|TH|TP|B|nf|fi|br)", text, re.M), command
    with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
        file.write(text)
        file.flush()
        if shutil.which("groff"):
            run("groff", "-man", "-Tascii", "-ww", "-z", file.name)
        if shutil.which("mandoc"):
            run("mandoc", "-Tlint", "-W", "error", file.name)


TAKE_FILES = {"check", "import", "import-t1", "merge", "new"}  # without an option


def complete_bash(script, *words):
    line = " ".join(f"'{word}'" for word in words)
    return set(run("bash", "-c", f"{script}\nCOMP_WORDS=({line}) COMP_CWORD={len(words) - 1}; _tune\n"
                                 'printf "%s\\n" "${COMPREPLY[@]}"').split())


def check_bash(commands):
    script = page("--completion", "bash")
    for command in commands:
        got = complete_bash(script, "tune", *command, "--")
        assert got == {f"--{option}" for option in options_of(command)}, (command, got)
    names = {command[0] for command in commands if command}
    assert complete_bash(script, "tune", "") == names | {"help"}
    assert complete_bash(script, "tune", "help", "") == names | {"help"}
    assert complete_bash(script, "tune", "best", "") == set()
    assert complete_bash(script, "tune", "--sizes", "") == set()
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/mine.cu", "w").close()
        assert complete_bash(script, "tune", "--template", f"{folder}/m") == {f"{folder}/mine.cu"}
        for command in commands:
            files = {f"{folder}/mine.cu"} if command and command[0] in TAKE_FILES else set()
            assert complete_bash(script, "tune", *command, f"{folder}/m") == files, command


def check_zsh(commands):
    script = page("--completion", "zsh")
    for option in set().union(*map(options_of, commands)):
        assert f"'*--{option}[" in script, option
    assert script.count("'*:FILE:_files'") == len(TAKE_FILES)
    if shutil.which("zsh"):
        run("zsh", "-n", "/dev/stdin", text=script)


def check_fish(commands):
    script = page("--completion", "fish")
    for option in set().union(*map(options_of, commands)):
        assert f" -l {option} " in script, option
    if not shutil.which("fish"):
        return
    for command in commands:
        with tempfile.NamedTemporaryFile("w", suffix=".fish") as file:
            file.write(script)
            file.flush()
            got = run("fish", "--no-config", "-c",
                      f"complete -e tune; source {file.name}; complete -C 'tune {' '.join(command)} --'")
        assert {line.split()[0][2:] for line in got.splitlines()} == options_of(command), (command, got)
    for name in TAKE_FILES:
        assert f"'__fish_seen_subcommand_from {name}' -F" in script, name


def main():
    listed = run(tune, "--help").split("Commands:\n")[1].split("\n\n")[0].splitlines()
    commands = [[]] + [[line.split()[0]] for line in listed if line.split()[0] != "help"]
    assert len(commands) > 5, commands
    for command in commands:
        check_man(command)
    check_bash(commands)
    check_zsh(commands)
    check_fish(commands)
    for words in (["--completion", "csh"], ["--completion"], ["--mann"], ["--man", "bset"]):
        done = subprocess.run([tune, "help", *words], capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.startswith("tune: ") and not done.stdout, (words, done)
    print(f"{len(commands)} pages")


if __name__ == "__main__":
    main()

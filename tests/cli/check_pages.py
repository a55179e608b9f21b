#!/usr/bin/env python3
"""check_pages.py TUNE: manual pages and completions have what --help has, and the tools that read them agree.

It asks bash, zsh, fish, groff and mandoc, as far as they are installed.
"""
import os
import pathlib
import pty
import re
import select
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
    return set(re.findall(r"^  (?:-[a-zA-Z], )?--([a-z-]+)", run(tune, *command, "--help"), re.M))


def check_man(command):
    text = page("--man", *command)
    plain = text.replace("\\-", "-")
    for option in options_of(command):
        assert f"--{option}\\fR" in plain, (command, option)
    assert not re.search(r"^[.'](?!SH|TH|TP|PP|B|nf|fi|br)", text, re.M), command
    with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
        file.write(text)
        file.flush()
        if shutil.which("groff"):
            run("groff", "-man", "-Tascii", "-ww", "-z", file.name)
        if shutil.which("mandoc"):
            run("mandoc", "-Tlint", file.name)  # prints what it finds, styles too
            for line in run("mandoc", "-Tutf8", "-Owidth=60", file.name).splitlines():
                plain = re.sub(".\b", "", line)
                assert len(plain) <= 60 or plain.startswith("         tune "), (command, plain)  # an example stays whole


def check_help(command):
    for line in run(tune, *command, "--help").splitlines():
        assert len(line) < 80, (command, line)


TAKE_FILES = {"check", "import", "judge", "import-t1", "merge", "new", "report", "rules"}  # without an option


def complete_bash(script, *words):
    line = " ".join(f"'{word}'" for word in words)
    return set(run("bash", "-c", f"{script}\nCOMP_WORDS=({line}) COMP_CWORD={len(words) - 1}; _tune\n"
                                 'printf "%s\\n" "${COMPREPLY[@]}"').split())


def values_of():
    """Words that complete, and that the options take."""
    text = page("--completion", "bash")
    found = {option: set(words.split()) for option, words in re.findall(r"--([a-z-]+)\) _tune_reply -W '([^']+)'", text)}
    assert {"dtype", "effort", "strategy", "objective", "elem-size", "align"} == set(found), found
    for option in ("dtype", "elem-size", "align"):
        for word in found[option]:
            small = ["--elem-size", "1"] if option == "align" else []
            run(tune, "best", "--gpu", "H200", "--size", "4096", *small, f"--{option}", word, "--db", ":memory:")
    for option in ("effort", "strategy"):
        for word in found[option]:
            done = subprocess.run([tune, "--sizes", "4", f"--{option}", word, "--device", "replay:/nonexistent"],
                                  capture_output=True, text=True)
            assert "/nonexistent" in done.stderr, done.stderr
    assert {"f16", "f32"} <= found["dtype"] and {"quick", "standard", "exhaustive"} == found["effort"]
    assert {"time", "energy", "edp"} == found["objective"]
    return found


def check_values(name, complete):
    """complete(WORD...) of a shell: what the last word becomes."""
    for option, values in values_of().items():
        command = "best" if option == "align" else "--json"
        assert complete("tune", command, f"--{option}", "") == values, (name, option)
    assert complete("tune", "--dtype", "f3") == {"f32"}, name
    with tempfile.TemporaryDirectory() as folder:
        for file in ("mine.cu", "mine.json"):
            open(f"{folder}/{file}", "w").close()
        both = {f"{folder}/mine.cu", f"{folder}/mine.json"}
        assert {"0", "replay:"} <= complete("tune", "--device", ""), name
        assert complete("tune", "best", "--kernel", f"{folder}/mi") == both, name
        assert complete("tune", "--kernel", f"{folder}/mine.c") == {f"{folder}/mine.cu"}, name
        got = complete("tune", "--device", f"replay:{folder}/mine.j")
        assert {word.removeprefix("replay:") for word in got} == {f"{folder}/mine.json"}, (name, got)
        got = complete("tune", "study", "--device", f"replay:{folder}/mi")
        assert {word.removeprefix("replay:") for word in got} == both, (name, got)


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
    check_values("bash", lambda *words: complete_split(script, *words))
    check_values("bash without ':'", lambda *words: complete_bash(f"{script}\nCOMP_WORDBREAKS=' '", *words))
    assert complete_split(script, "tune", "--dtype=f3") == {"f32"}
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/mine.cu", "w").close()
        assert complete_bash(script, "tune", "--template", f"{folder}/m") == {f"{folder}/mine.cu"}
        for command in commands:
            files = {f"{folder}/mine.cu"} if command and command[0] in TAKE_FILES else set()
            assert complete_bash(script, "tune", *command, f"{folder}/m") == files, command


def complete_split(script, *words):
    """As readline calls bash: ':' and '=' are words of their own, and the part after them is replaced."""
    split = [part for word in words for part in (re.findall(r"[:=]|[^:=]+", word) or [""])]
    return complete_bash(script + "\nCOMP_WORDBREAKS=:=", *split)


def complete_zsh(script, *words):
    """The list that zsh shows at Ctrl-D, in a terminal of its own. Files lack their folder, which comes first."""
    main, terminal = pty.openpty()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "_tune").write_text(script, encoding="utf-8")
        setup = (f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; PS1='READY> '; LISTMAX=9999\n"
                 "zstyle ':completion:*' list-separator '#'\nunsetopt always_last_prompt zle_bracketed_paste beep\n"
                 "bindkey -e; bindkey '^D' list-choices; stty cols 200; zstyle ':completion:*' verbose no\n")
        pathlib.Path(folder, ".zshrc").write_text(setup, encoding="utf-8")
        environment = {**os.environ, "TERM": "dumb", "ZDOTDIR": folder, "HOME": folder}
        shell = subprocess.Popen(["zsh", "-i", "-o", "no_global_rcs"], stdin=terminal, stdout=terminal, stderr=terminal,
                                 env=environment, start_new_session=True)
        os.close(terminal)

        def until(text):
            said = ""
            while text not in said:
                if not select.select([main], [], [], 60)[0]:
                    sys.exit(f"zsh: no {text!r} in {said!r}")
                said += os.read(main, 65536).decode(errors="replace")
            return said

        until("READY> ")
        os.write(main, " ".join(words).encode() + b"\x04")
        os.write(main, b"\x15echo EN''D\n")  # Ctrl-U: the line is not run
        said = until("END")
        os.write(main, b"\x15exit\n")
        shell.wait(60)
        os.close(main)
    listed = said.split("READY> ")[0].partition("\n")[2]
    folder = words[-1].removeprefix("replay:").rpartition("/")
    return {folder[0] + folder[1] + word for word in listed.split()}


def check_zsh(commands):
    script = page("--completion", "zsh")
    for option in set().union(*map(options_of, commands)):
        assert f"'*--{option}[" in script, option
    assert script.count("'*:FILE:_files'") == len(TAKE_FILES)
    if shutil.which("zsh"):
        run("zsh", "-n", "/dev/stdin", text=script)
        check_values("zsh", lambda *words: complete_zsh(script, *words))


def check_fish(commands):
    script = page("--completion", "fish")
    for option in set().union(*map(options_of, commands)):
        assert f" -l {option} " in script, option
    if not shutil.which("fish"):
        return

    def complete(*words):
        with tempfile.NamedTemporaryFile("w", suffix=".fish") as file:
            file.write(script)
            file.flush()
            got = run("fish", "--no-config", "-c", f"complete -e tune; source {file.name}; complete -C '{' '.join(words)}'")
        return {line.split("\t")[0] for line in got.splitlines()}

    for command in commands:
        got = complete("tune", *command, "--")
        assert {word[2:] for word in got} == options_of(command), (command, got)
    check_values("fish", complete)
    for name in TAKE_FILES:
        assert f"'__fish_seen_subcommand_from {name}' -F" in script, name


def main():
    listed = run(tune, "--help").split("Commands:\n")[1].split("\n\n")[0].splitlines()
    commands = [[]] + [[line.split()[0]] for line in listed if line.startswith("  ") and line.split()[0] != "help"]
    assert len(commands) > 5, commands
    for command in commands:
        check_man(command)
        check_help(command)
    check_bash(commands)
    check_zsh(commands)
    check_fish(commands)
    for words in (["--completion", "csh"], ["--completion"], ["--mann"], ["--man", "bset"]):
        done = subprocess.run([tune, "help", *words], capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.startswith("tune: ") and not done.stdout, (words, done)
    missing = [name for name in ("groff", "mandoc", "zsh", "fish") if not shutil.which(name)]
    print(f"{len(commands)} pages" + (f"; not asked, since they are not here: {', '.join(missing)}" if missing else ""))


if __name__ == "__main__":
    main()

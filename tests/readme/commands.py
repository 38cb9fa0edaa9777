"""Runs the commands that pages show, and fails where one prints something else: commands.py QDQ PAGE...

A block of the language `console` has lines that begin with "$ ", each with its output; `...` stands for any text. The blocks
of a page run in one folder. Those of programs of the build are other tests'.
"""

import doctest
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = (pathlib.Path(__file__).parent / "../..").resolve()
SAME = doctest.OutputChecker().check_output


def commands_of(page):
    for block in re.findall(r"^```console\n(.*?)```", page.read_text(), re.M | re.S):
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            yield command, output


def problems(page, environment):
    with tempfile.TemporaryDirectory() as folder:
        for command, output in commands_of(page):
            done = subprocess.run(command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)  # fmt: skip
            if done.returncode != 0 or not SAME(output, done.stdout, doctest.ELLIPSIS):
                yield f"{page}: $ {command}\n{done.stdout}is not\n{output}"


def main():
    qdq, *pages = sys.argv[1:]
    folders = [str(pathlib.Path(qdq).resolve().parent), str(pathlib.Path(sys.executable).parent)]
    environment = {**os.environ, "PATH": os.pathsep.join([*folders, os.environ["PATH"]])}
    if found := [problem for page in pages for problem in problems(ROOT / page, environment)]:
        sys.exit("\n".join(found))


main()

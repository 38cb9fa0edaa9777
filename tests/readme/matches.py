"""Fails unless pages show programs as they are compiled: README.md tests/readme/example.cpp, whole, and each block after a
line `<!-- file: PATH -->` a part of that file.
"""

import pathlib
import re
import sys

ROOT = (pathlib.Path(__file__).parent / "../..").resolve()


def problems():
    example = (ROOT / "tests/readme/example.cpp").read_text()
    if f"```cpp\n{example}```" not in (ROOT / "README.md").read_text():
        yield "README.md does not contain tests/readme/example.cpp as a cpp block"
    for page in sorted((ROOT / "docs").glob("*.md")):
        for path, block in re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)```", page.read_text(), re.M | re.S):
            if block not in (ROOT / path).read_text():
                yield f"docs/{page.name}: this is not in {path}:\n{block}"


if found := list(problems()):
    sys.exit("\n".join(found))

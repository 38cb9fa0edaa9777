"""Fails unless README.md shows the example exactly as it is compiled."""

import pathlib
import sys

here = pathlib.Path(__file__).parent
example = (here / "example.cpp").read_text()
if f"```cpp\n{example}```" not in (here / "../../README.md").read_text():
    sys.exit("README.md does not contain tests/readme/example.cpp as a cpp block")

"""The command line, `qdq`: the program that the package carries, in place of this one."""

import os
import pathlib
import sys
from typing import NoReturn

PROGRAM = pathlib.Path(__file__).parent / "bin" / "qdq"


def main() -> NoReturn:
    os.execv(PROGRAM, ["qdq", *sys.argv[1:]])


if __name__ == "__main__":
    main()

"""Headers that take seconds to compile stand in few files of the command line: in 35 they took half of `make demo`."""

import re
import unittest
from pathlib import Path

CLI = Path(__file__).resolve().parents[2] / "cli"


def files_with(header):
    include = re.compile(rf"^#include <{re.escape(header)}>", re.M)
    return sorted(path.name for path in CLI.iterdir() if path.suffix in (".cpp", ".h") and include.search(path.read_text()))


class HeavyHeaders(unittest.TestCase):
    def test_json_is_parsed_and_written_in_two_files(self):
        self.assertEqual(files_with("nlohmann/json.hpp"), ["json.cpp", "parsing.cpp"])
        self.assertEqual(files_with("nlohmann/json_fwd.hpp"), [])

    def test_the_command_line_is_described_in_one_file_and_printed_by_another(self):
        self.assertEqual(files_with("CLI/CLI.hpp"), ["generate_command.h", "main.cpp"])


if __name__ == "__main__":
    unittest.main()

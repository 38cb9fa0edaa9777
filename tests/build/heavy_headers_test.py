"""Headers that take seconds to compile stand in few files of model/ and cli/: in 35 they took half of `make demo`."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def files_with(header):
    include = re.compile(rf"^#include <{header}>", re.M)
    sources = [path for folder in ("model", "cli") for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".h")]
    return sorted(path.name for path in sources if include.search(path.read_text()))


class HeavyHeaders(unittest.TestCase):
    def test_json_is_parsed_and_written_in_two_files(self):
        self.assertEqual(files_with(r"nlohmann/json\.hpp"), ["json.cpp", "parsing.cpp"])
        self.assertEqual(files_with(r"nlohmann/json_fwd\.hpp"), [])

    def test_the_command_line_is_described_in_one_file_and_printed_by_another(self):
        self.assertEqual(files_with(r"CLI/.*"), ["generate_command.h", "main.cpp"])

    def test_protobuf_and_yaml_are_read_and_written_in_a_file_each(self):
        self.assertEqual(files_with(r"protozero/.*"), ["onnx_writer.cpp", "protobuf_scanner.cpp", "protobuf_scanner.h"])
        self.assertEqual(files_with(r"yaml-cpp/.*"), ["yaml.cpp"])


if __name__ == "__main__":
    unittest.main()

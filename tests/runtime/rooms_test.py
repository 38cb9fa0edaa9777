"""No source of a lower room of runtime/src/ includes one of a higher room: docs/architecture.md.

usage: rooms_test.py RUNTIME_SRC
"""

import pathlib
import re
import sys
import unittest

# Each may include itself and the rooms before it; cpu and device know nothing of one another.
MAY_INCLUDE = {
    "support": set(),
    "targets": {"support"},
    "plan": {"support", "targets"},
    "cpu": {"support", "targets", "plan"},
    "device": {"support", "targets", "plan"},
    "api": {"support", "targets", "plan", "cpu", "device"},
}
SOURCES = pathlib.Path(sys.argv.pop(1))


def included_rooms(source):
    return {name.split("/")[0] for name in re.findall(r'^#include "([\w/.]+)"', source.read_text(), re.M) if "/" in name}


class Rooms(unittest.TestCase):
    def test_every_source_lies_in_a_room(self):
        rooms = {path.relative_to(SOURCES).parts[0] for path in SOURCES.rglob("*") if path.is_file()}
        self.assertEqual(rooms, set(MAY_INCLUDE))

    def test_includes_point_to_lower_rooms(self):
        for room, lower in MAY_INCLUDE.items():
            for source in sorted((SOURCES / room).rglob("*")):
                with self.subTest(source=str(source.relative_to(SOURCES))):
                    self.assertLessEqual(included_rooms(source) & set(MAY_INCLUDE), lower | {room})

    def test_instructions_are_named_for_nontemporal_copies_alone(self):
        named = [source for source in sorted(SOURCES.rglob("*")) if source.is_file() and "immintrin.h" in source.read_text()]
        self.assertEqual([str(source.relative_to(SOURCES)) for source in named], ["cpu/nontemporal_x86_64.cpp"])

    def test_no_source_includes_a_kernel(self):
        for source in sorted(SOURCES.rglob("*")):
            if source.is_file():
                with self.subTest(source=str(source.relative_to(SOURCES))):
                    self.assertNotIn("handwritten", included_rooms(source))

    def test_includes_name_the_room(self):
        headers = {path.name for path in SOURCES.rglob("*.h")}
        for source in sorted(SOURCES.rglob("*")):
            if source.is_file():
                named = set(re.findall(r'^#include "([\w.]+)"', source.read_text(), re.M))
                with self.subTest(source=str(source.relative_to(SOURCES))):
                    self.assertFalse(named & headers)


if __name__ == "__main__":
    unittest.main()

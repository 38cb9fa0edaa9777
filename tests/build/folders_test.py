"""No source includes a folder that may not be known where it lies: docs/architecture.md."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Where a quoted header is looked for that does not lie beside the source.
SEARCHED = ("kernels", "generators", "schedules", "runtime/include", "runtime/src", "runtime/compat", "model", "cli", "python/src", "tests")
PUBLIC = r"qdq/.*"  # what is installed
FACE = r"model\.h|support/\w+\.h"

# What the sources of a folder may include of others; schedules and generators meet at what a generator hands over.
MAY_INCLUDE = {
    "kernels": {"runtime": r"qdq/(qdq|link/kernels)\.h"},
    "schedules": {"kernels": ".*", "generators": r"cpu_kernel\.h"},
    "generators": {"kernels": ".*", "schedules": ".*", "runtime": r"qdq/qdq\.h"},
    "runtime": {"kernels": ".*"},
    "model": {"kernels": ".*", "runtime": PUBLIC},
    "cli": {"model": FACE, "runtime": PUBLIC, "tests": r"conformance/check\.h"},
    "python": {"model": FACE, "runtime": PUBLIC},
}
# The rooms of model/: each may include itself and those before it.
ROOMS = ["support", "tensors", "files", "recipe", "conversion"]


def sources(folder):
    return sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in (".c", ".cpp", ".h", ".hpp"))


def included(source):
    """The headers of the repository that a source includes, by path, each with the name by which it does."""
    for name in re.findall(r'^#include ["<]([\w/.]+)[">]', source.read_text(), re.M):
        places = [source.parent, *(ROOT / folder for folder in SEARCHED)]
        if found := next((place / name for place in places if (place / name).is_file()), None):
            yield found.resolve().relative_to(ROOT), name


class Folders(unittest.TestCase):
    def test_a_folder_includes_those_that_it_may_know(self):
        for folder, others in MAY_INCLUDE.items():
            for source in sources(folder):
                for path, name in included(source):
                    with self.subTest(source=str(source.relative_to(ROOT)), includes=name):
                        self.assertTrue(path.parts[0] == folder or re.fullmatch(others.get(path.parts[0], ""), name))


class Handwritten(unittest.TestCase):
    """kernels/handwritten/ knows the rest of kernels/ and the signatures, as the generators' kernels do, and nobody knows it."""

    def test_it_is_included_by_itself_alone(self):
        for folder in ("kernels", "generators", "schedules", "runtime", "conformance", "model", "cli", "python", "bench", "tests"):
            for source in sources(folder):
                own = source.is_relative_to(ROOT / "kernels/handwritten")
                for path, name in included(source):
                    with self.subTest(source=str(source.relative_to(ROOT)), includes=name):
                        self.assertTrue(own or not path.is_relative_to("kernels/handwritten"))
                        self.assertTrue(own or path.parts[0] != "runtime" or folder != "kernels" or name == "qdq/qdq.h")


class RoomsOfModel(unittest.TestCase):
    def test_every_source_lies_in_a_room_but_the_face(self):
        self.assertEqual({source.relative_to(ROOT / "model").parts[0] for source in sources("model")},
                         {*ROOMS, "model.h", "model.cpp"})

    def test_includes_point_to_earlier_rooms(self):
        for place, room in enumerate(ROOMS):
            for source in sources(f"model/{room}"):
                of_model = [path.parts[1] for path, _ in included(source) if path.parts[0] == "model"]
                with self.subTest(source=str(source.relative_to(ROOT))):
                    self.assertLessEqual(set(of_model), set(ROOMS[:place + 1]))


if __name__ == "__main__":
    unittest.main()

"""No source includes a folder that may not be known where it lies: docs/architecture.md."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Where a header is looked for that lies neither beside the source nor at a path in its own folder.
SEARCHED = (".", "kernels", "schedules", "generators", "conformance", "runtime/include", "runtime/src", "runtime/compat",
            "model", "cli", "python/src", "tests")  # fmt: skip
PUBLIC = r"qdq/.*"  # what is installed
FACE = r"model\.h|support/\w+\.h"

# What the sources of each folder may include of others.
MAY_INCLUDE = {
    "kernels": {"runtime": r"qdq/(qdq|link/kernels)\.h"},
    "schedules": {"kernels": ".*"},
    "generators": {"kernels": ".*", "schedules": r"schedule\.h", "runtime": r"qdq/qdq\.h"},
    "runtime": {"kernels": ".*"},
    "conformance": {"kernels": ".*", "runtime": PUBLIC},
    "model": {"kernels": ".*", "runtime": PUBLIC},
    "cli": {"model": FACE, "conformance": r"conformance/(check|device|dynamic|other_calls|supported)\.h", "runtime": PUBLIC},
    "python": {"model": FACE, "runtime": PUBLIC},
    "examples": {"runtime": PUBLIC},
    "bench": {"conformance": r"conformance/check\.h", "runtime": PUBLIC, "tests": r"support/.*"},
    "tests": {"kernels": ".*", "conformance": ".*", "runtime": ".*"},
}
# The rooms of model/: each may include itself and those before it.
ROOMS = ["support", "tensors", "files", "recipe", "conversion"]
# What model.h leads to, beside support/: how tensors are read, decoded and kept is not among it.
FACE_HAS = {
    "conversion": {"bit_allocation", "comparison", "dequantization", "inspection", "model_output", "quantization", "recoding", "report",
                   "transformation"},
    "files": {"file_kinds"},
    "recipe": {"recipe"},
    "tensors": {"dtype_table", "file_kind", "granularity", "kernel_use", "odd_scales", "quantized_type", "records",
                "scale_method", "tensor_file"},
}  # fmt: skip


def sources(folder):
    return sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in (".c", ".cpp", ".h", ".hpp"))


def included(source):
    """The headers of the repository that a source includes, by path, each with the name by which it does."""
    own = source.relative_to(ROOT).parts[0]
    for name in re.findall(r'^#include ["<]([\w/.]+)[">]', source.read_text(), re.M):
        places = [source.parent, *(ROOT / folder for folder in (own, *SEARCHED))]
        if found := next((place / name for place in places if (place / name).is_file()), None):
            yield found.resolve().relative_to(ROOT), name


class Folders(unittest.TestCase):
    def test_every_folder_of_sources_is_here(self):
        folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "build" and path.name[0] != "."}
        self.assertEqual({name for name in folders if sources(name)}, set(MAY_INCLUDE))

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

    def test_it_prints_nothing(self):
        for source in sources("model"):
            with self.subTest(source=str(source.relative_to(ROOT))):
                self.assertNotRegex(source.read_text(), r"std::(cout|cerr|clog)\b|\b(printf|fprintf|puts|fputs|putchar)\(|<iostream>")

    def test_the_face_leads_to_no_more_than_it_must(self):
        reached, left = set(), [ROOT / "model/model.h"]
        while left:
            reached |= (found := {ROOT / path for path, _ in included(left.pop())} - reached)
            left += found
        rooms = {(path.parent.name, path.stem) for path in reached if path.parent.parent.name == "model"}
        self.assertEqual({each for each in rooms if each[0] != "support"},
                         {(room, name) for room, names in FACE_HAS.items() for name in names})


if __name__ == "__main__":
    unittest.main()

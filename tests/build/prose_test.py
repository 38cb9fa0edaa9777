"""What tools/prose.py says of pages, messages and --help. It reads Markdown by a package of `make lint`."""

import importlib.util
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONG = " ".join(["word"] * 30)


@unittest.skipUnless(importlib.util.find_spec("markdown_it"), "not run: markdown-it-py is not installed, which `make lint` does")
class Prose(unittest.TestCase):
    def found(self, suffix, text):
        sys.path.insert(0, str(ROOT / "tools"))
        import prose

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"file{suffix}"
            path.write_text(text)
            return [what.partition(":")[0] for _, what in prose.problems(path)]

    def test_finds_a_long_sentence_and_a_word_of_the_list(self):
        self.assertEqual(self.found(".md", f"{LONG}.\n\nUtilize it.\n"), ["30 words", "utilize"])
        self.assertEqual(self.found(".md", f"{LONG[5:]}. Use it.\n"), [])

    def test_reads_the_messages_of_a_source(self):
        self.assertEqual(self.found(".cpp", f'throw failure("{LONG[:74]}"\n    " {LONG[75:]}");\n'), ["30 words"])
        self.assertEqual(self.found(".py", f'raise ValueError(f"{LONG[5:]} {{x}}")\n'), ["30 words"])

    def test_reads_help_by_its_paragraphs_and_rows(self):
        half = " ".join(["word"] * 15)
        self.assertEqual(self.found(".cpp", f'f(R"({half}\n{half})");\n'), ["30 words"])
        self.assertEqual(self.found(".cpp", f'f(R"({half}\n\n{half}\n  name   {half}\n{half}:\n{half})");\n'), [])

    def test_leaves_comments_of_sources_alone(self):
        self.assertEqual(self.found(".cpp", f'// "{LONG}"\n/* "{LONG}" */\nint x;\n'), [])


if __name__ == "__main__":
    unittest.main()

"""docs/python.md shows what examples/accuracy.py prints."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def test_the_page_shows_the_table_of_the_demos_model():
    # A tool of the environment beside this one, which has the model.
    model = subprocess.check_output([sys.executable, ROOT / "tools" / "demo_model.py"], text=True).strip()
    table = subprocess.check_output([sys.executable, ROOT / "examples" / "accuracy.py", model], text=True)
    assert table.count("\n") == 26 and table in (ROOT / "docs" / "python.md").read_text()

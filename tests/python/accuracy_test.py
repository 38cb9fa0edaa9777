"""Pages show what examples print of the demo's model."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SHOWN = {"accuracy": ("python.md", 26), "clip_search": ("dynamic.md", 10)}


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_shows_the_table_of_the_demos_model(name):
    # A tool of the environment beside this one, which has the model.
    model = subprocess.check_output([sys.executable, ROOT / "tools" / "demo_model.py"], text=True).strip()
    table = subprocess.check_output([sys.executable, ROOT / "examples" / f"{name}.py", model], text=True)
    page, lines = SHOWN[name]
    assert table.count("\n") == lines and table in (ROOT / "docs" / page).read_text()

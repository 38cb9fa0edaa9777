"""The examples of docs/python.md, and of other pages."""

import doctest
import pathlib

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def run(is_wanted, page=PAGE):
    """Runs the examples of the sections whose titles are wanted, one after another in one namespace.

    Returns how many there are. Fails where one prints something else.
    """
    text = ""
    for section in page.read_text().split("\n## "):
        text += section if is_wanted(section.partition("\n")[0]) else ""
    test = doctest.DocTestParser().get_doctest(text.replace("```", ""), {}, page.name, str(page), 0)
    said = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert result.failed == 0, "".join(said)
    return result.attempted

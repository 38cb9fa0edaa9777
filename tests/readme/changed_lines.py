"""Fails unless docs/frontends.md has how many lines of each example are not its sample's: changed_lines.py <name>...

They end in a comment that says why: changed, or added.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parent / "../.."
page = (ROOT / "docs/frontends.md").read_text()
wrong = []
for name in sys.argv[1:]:
    text = (ROOT / f"examples/{name}.cpp").read_text()
    changed, added = (len(re.findall(f"// {kind}: ", text)) for kind in ("changed", "added"))
    if f"\n| `examples/{name}.cpp` | {changed} | {added} |" not in page:
        wrong.append(f"{name}: {changed} changed, {added} added")
if wrong:
    sys.exit("not in docs/frontends.md: " + "; ".join(wrong))

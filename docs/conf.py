"""Sphinx's settings. tools/docs.py runs it: the sources are the repository's root, so that links are those of GitHub."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/docs"
sys.path.insert(0, str(BUILD / "python"))  # the package with its stubs for the extension, as tools/docs.py puts it there

project = "qdq"
author = "qdq's authors"
copyright = author
release = re.search(r'__version__ = "(.*)"', (ROOT / "python/qdq/__init__.py").read_text())[1]
root_doc = "docs/index"
include_patterns = ["docs/*.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "bench/results/*.md"]
exclude_patterns = ["build", ".venv*", ".git"]
extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
highlight_language = "none"
nitpicky = False

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

breathe_projects = {"qdq": str(BUILD / "doxygen/xml")}
breathe_default_project = "qdq"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_order_parameters_first = True

autodoc_mock_imports = ["jax", "onnx", "ray", "torch"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_use_rtype = False
python_maximum_signature_line_length = 88
maximum_signature_line_length = 88
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "qdq"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_search_scorer = str(ROOT / "docs/site/scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_use_index = True

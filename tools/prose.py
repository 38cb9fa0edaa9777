"""Plain words: what users read has sentences of fewer than 30 words, and none of the words below. That is README.md, the
site's pages, the public headers' comments, Python's docstrings, and the texts in the sources: messages and --help.

usage: tools/prose.py [FILE...]

A code span counts as one word. Code blocks are not looked at.
"""

import ast
import pathlib
import re
import sys

from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_WORDS = 29
LEFT_OUT = {"docs/mutants.md"}  # a record of others' texts
AVOIDED = {
    "utilize": "use", "utilise": "use", "leverage": "use", "facilitate": "help", "in order to": "to", "obviously": "",
    "basically": "", "simply": "", "due to the fact that": "because",
    "blazing": "a figure", "seamless": "what happens", "state-of-the-art": "a figure", "cutting-edge": "a figure",
}  # fmt: skip
END = re.compile(r"(?<=[.!?])[\"')*_]*\s+")


def text_of(inline):
    """What a reader sees; of code one word."""
    parts = []
    for token in inline.children:
        if token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif token.type == "code_inline":
            parts.append("Code")
        elif token.type == "text":
            parts.append(token.content)
    return "".join(parts)


def comments(text, pattern, margin):
    """What Doxygen reads, as Markdown, with the line before it. A parameter is a paragraph of its own."""
    for found in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
        comment = re.sub(margin, "", found[0], flags=re.MULTILINE).removesuffix("*/")
        comment = re.sub(r"@code.*?@endcode", "", comment, flags=re.DOTALL)
        yield text.count("\n", 0, found.start()), re.sub(r"@(?:param \w+|return)", "\n\n", comment)


def docstrings(text):
    """Their paragraphs, an argument each, without examples."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            for paragraph in re.split(r"\n\s*\n|\n\s+(?=[\w, ]+: )", ast.get_docstring(node)):
                if not paragraph.startswith("    "):
                    yield node.body[0].lineno - 1, " ".join(paragraph.split())


# Comments and what is included, and then texts: raw, and one or more after another.
CPP_TEXTS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|^\s*\#\s*include[^\n]*|'(?:\\.|[^'\\\n])+'|R"\((?P<raw>.*?)\)"|(?P<plain>(?:"(?:[^"\\\n]|\\.)*"\s*)+)""",
    re.DOTALL | re.MULTILINE,
)


def cpp_texts(text):
    for found in CPP_TEXTS.finditer(text):
        plain = re.findall(r'"((?:[^"\\\n]|\\.)*)"', found["plain"] or "")
        yield text.count("\n", 0, found.start()), found["raw"] or "".join(plain).replace("\\n", "\n").replace('\\"', '"')


def python_texts(text):
    """An f-string's with a word for each value; docstrings are read by docstrings()."""
    nodes = list(ast.walk(ast.parse(text)))
    statements = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield node.lineno - 1, "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements:
            yield node.lineno - 1, node.value


def is_row(line):
    """Whether a line of a message is a row of a table, or an example: it is indented, or has two spaces between words."""
    return re.match(r"    |.*\S  +\S", line) is not None


def paragraphs(text):
    """Of a message. A row is one, and a line that ends with a colon, or the text before it, ends one."""
    found, before = [[]], ""
    for line in text.split("\n"):
        if not line.strip() or is_row(line) or is_row(before) or before.endswith(":"):
            found.append([])
        found[-1].append(line)
        before = line
    return [" ".join(" ".join(lines).split()) for lines in found]


TEXTS = {".py": python_texts, ".cpp": cpp_texts, ".h": cpp_texts, ".hpp": cpp_texts}


def messages(path):
    """The paragraphs of the texts in a source; markup is none."""
    for line, text in TEXTS[path.suffix](path.read_text()) if path.suffix in TEXTS else []:
        for paragraph in paragraphs(text):
            if "</" not in paragraph:
                yield line + 1, paragraph


def markdown_of(path):
    text = path.read_text()
    if path.suffix == ".cpp":
        return []
    if path.suffix in (".py", ".pyi"):
        return docstrings(text)
    if path.suffix == ".h":
        return comments(text, r"/\*\*.*?\*/", r"^ */\*\*<? ?|^ *\*(?!/) ?")
    return comments(text, r"(?:^ *///.*?\n)+|///<.*?\n", r"^ *///<? ?") if path.suffix == ".hpp" else [(0, text)]


def texts(path):
    """Each paragraph, item, heading and cell, with its line."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    for before, text in markdown_of(path):
        line = 0
        for token in markdown.parse(text):
            line = token.map[0] + 1 if token.map else line
            if token.type == "inline":
                yield before + line, text_of(token)
    yield from messages(path)


def words_in(sentence):
    return re.findall(r"[^\s]*\w[^\s]*", sentence)


def problems(path):
    for line, text in texts(path):
        for sentence in END.split(text):
            count = len(words_in(sentence))
            if count > MOST_WORDS:
                yield line, f"{count} words: {sentence.strip()}"
        for word, instead in AVOIDED.items():
            if re.search(rf"\b{word}\b", text, re.IGNORECASE):
                yield line, f"{word}: {f'say {instead}' if instead else 'leave it out'}"


def pages():
    folders = [("docs", "*.md"), ("docs", "*.pyi"), ("runtime/include", "*.h"), ("runtime/include", "*.hpp"), ("python/qdq", "*.py")]
    folders += [(folder, ending) for folder in ("cli", "model", "runtime/src", "runtime/compat", "python/src") for ending in ("*.cpp", "*.h")]
    found = [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md")), *(path for folder, ending in folders for path in sorted((ROOT / folder).rglob(ending)))]
    return [path for path in found if str(path.relative_to(ROOT)) not in LEFT_OUT]


def findings(paths):
    """As a compiler's warnings."""
    return [f"{path.relative_to(ROOT)}:{line}:1: warning: {what}" for path in paths for line, what in problems(path)]


def main():
    found = findings([pathlib.Path(name).resolve() for name in sys.argv[1:]] or pages())
    print("".join(f"{line}\n" for line in found), end="")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

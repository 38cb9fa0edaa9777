"""Fails unless the types that aclnn.h lists for a parameter are those that its function takes."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = (ROOT / "runtime/include/qdq/compat/aclnn.h").read_text()
TYPES = set(re.findall(r"ACL_(\w+)", HEADER[HEADER.index("typedef enum") : HEADER.index("} aclDataType")]))
WORDS = {"f32": "FLOAT", "f16": "FLOAT16", "bf16": "BF16", "i8": "INT8", "u8": "UINT8", "i32": "INT32",
         "e5m2": "FLOAT8_E5M2", "e4m3fn": "FLOAT8_E4M3FN"}  # fmt: skip
RESULTS = {"y": "dstType", "yOut": "dstType"}  # whose types the comment has there


def types_in(text):
    return {WORDS.get(word, word.removeprefix("ACL_")) for word in re.findall(r"\w+", text)} & TYPES


def comment_of(function):
    comments = re.findall(rf"/\*\*((?:(?!\*/).)*)\*/\s*aclnnStatus {function}GetWorkspaceSize", HEADER, re.S)
    return dict(re.findall(r"@param (\w+) +((?:(?!@).)*)", comments[0], re.S))


problems, lists = [], 0
for source in sorted((ROOT / "runtime/compat").glob("aclnn_*.cpp")):
    text = source.read_text()
    checks = re.findall(r'check_type<([^>]*)>\(\s*(?:c\.)?op,\s*"(\w+)"', text)
    function = max(re.findall(r"aclnnStatus (\w+)GetWorkspaceSize\(", text))  # the latest version has the lists
    comment = comment_of(function)
    for taken, name in checks:
        listed = types_in(re.split(r"\.\s", comment[RESULTS.get(name, name)])[0])
        lists += 1
        if listed != types_in(taken):
            problems.append(f"{function}: {name}: listed are {sorted(listed)}, taken {sorted(types_in(taken))}")
if lists < 18:  # as there are today
    problems.append(f"{lists} lists alone were found: the functions check types in a way that this test does not know")
if problems:
    sys.exit("\n".join(problems))

"""Fails where the aclnn front end asks for a symbol of the C++ library: aclnn_symbols_test.py NM LIBRARY"""

import subprocess
import sys

nm, library = sys.argv[1:]
listed = subprocess.run([nm, "--format=posix", library], stdout=subprocess.PIPE, text=True, check=True).stdout
symbols = [line.split()[:2] for line in listed.splitlines() if len(line.split()) > 1]
defined = {name for name, kind in symbols if kind not in "Uw"}
missing = {name for name, kind in symbols if kind == "U"} - defined
of_cpp = sorted(name for name in missing if name.startswith(("_Z", "__cxa_", "__gxx_")))
if of_cpp:
    sys.exit(f"{library} leaves undefined: {' '.join(of_cpp)}")

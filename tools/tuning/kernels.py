"""The kernels of a build, and builds of the library in which some are compiled with other parameters."""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Refused(Exception):
    """The generator takes no such parameters; the text is its own."""


class Parameter:
    """A tuned parameter: schedules/parameters.cmake. `choices` are texts, in the order of their numbers."""

    def __init__(self, name, entry):
        self.name, self.kinds = name, entry["for"]
        if "choices" in entry:
            self.choices = entry["choices"]
        else:
            least, most = entry["range"]
            powers = [1 << e for e in range(most.bit_length()) if least <= 1 << e <= most]
            self.choices = [str(n) for n in sorted({least, most, *powers})]


class Kernel:
    """One row of the list: how it is compiled, and its parameters as the build has them."""

    def __init__(self, entry):
        self.name, self.target, self.kind = entry["name"], entry["target"], entry["kind"]
        self.generator, self.arguments = entry["generator"], entry["arguments"]
        self.object = pathlib.Path(entry["object"])
        self.tuned = entry["tuned"]

    @property
    def symbol(self):
        return f"qdq_{self.target}_{self.name}"


class Build:
    """A build folder. `work` holds what is compiled for tuning."""

    def __init__(self, folder, work):
        self.folder, self.work = pathlib.Path(folder).resolve(), pathlib.Path(work).resolve()
        listed = json.loads((self.folder / "generators/kernels.json").read_text())
        self.generators, self.compiler = listed["generators"], listed["compiler"]
        self.runtime = listed["runtime"]
        listed_kernels = [Kernel(entry) for entry in listed["kernels"]]
        self.kernels = [k for k in listed_kernels if k.kind != "dispatch"]
        self.dispatched = [k for k in listed_kernels if k.kind == "dispatch"]  # the dispatcher's parameters, by pair
        self.parameters = {name: Parameter(name, entry) for name, entry in listed["parameters"].items()}
        self.legal = json.dumps(listed["parameters"])
        self.library = self.folder / "runtime/libqdq.so"
        self.work.mkdir(parents=True, exist_ok=True)

    def parameters_of(self, kernel):
        return [p for p in self.parameters.values() if kernel.kind in p.kinds]

    def version(self):
        """Changes with the generators and what they take: what was measured of other kernels says nothing of theirs."""
        return hashlib.sha256(pathlib.Path(self.generators).read_bytes() + self.legal.encode()).hexdigest()[:16]

    def command(self, kernel, folder, arguments):
        return [self.generators, "-g", kernel.generator, "-f", kernel.symbol, "-n", kernel.symbol, "-e", "object",
                "-o", str(folder), *kernel.arguments, *arguments]

    def compile(self, kernel, parameters, name, options=()):
        """The object of a kernel with parameters, in a folder of a name."""
        folder = self.work / name
        folder.mkdir(parents=True, exist_ok=True)
        if kernel.kind == "dispatch":
            return self.compile_table([(kernel, parameters)], folder)
        arguments = [f"{parameter}={value}" for parameter, value in parameters.items()]
        done = subprocess.run([*self.command(kernel, folder, arguments), *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        if done.returncode != 0:
            raise Refused(done.stdout.strip())
        return folder / f"{kernel.symbol}.o"

    def compile_table(self, changed, folder):
        """The object of the dispatch table with other parameters of some rows: pairs of a kernel, or a pair of types, and
        those."""
        headers = {}
        for row, parameters in changed:
            header = folder / f"qdq/link/{row.target}.h"  # found before the build's, as it lies beside the table
            if header not in headers:
                headers[header] = (self.folder / f"runtime/include/qdq/link/{row.target}.h").read_text()
            if row.kind == "device":
                pattern, value = rf"({row.symbol}_argv, )\d+", parameters["unit_elements"]
            else:
                pattern = rf"(#define QDQ_ROW_{row.target}_{row.name} .*\n.*\{{)[^}}]*"
                value = ", ".join(str(parameters[p.name]) for p in self.parameters_of(row))
            headers[header], rows = re.subn(pattern, rf"\g<1>{value}", headers[header])
            assert rows == 1
        for header, text in headers.items():
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text(text)
        source, compiled = folder / "kernel_rows.cpp", folder / "kernel_rows.cpp.o"
        source.write_text((self.folder / "runtime/kernel_rows.cpp").read_text())
        commands = json.loads((self.folder / "compile_commands.json").read_text())
        entry = next(c for c in commands if c["file"].endswith("/runtime/kernel_rows.cpp"))
        command = entry["command"].replace(entry["file"], str(source))
        command = re.sub(r"-o \S+", f"-o {compiled}", command)
        subprocess.run(command, shell=True, cwd=entry["directory"], check=True)
        return compiled

    def halide_runtime(self):
        """The object of Halide's run time, which kernels with loops over threads or memory of their own call."""
        compiled = self.work / "halide_runtime.o"
        if not compiled.exists():
            subprocess.run([self.generators, "-r", "halide_runtime", "-e", "object", "-o", str(self.work), "target=host"],
                           check=True)
        return compiled

    def link(self, objects, library):
        """The shared library with other objects in place of those of the same names."""
        rest = self.work / "kernels.a"
        if not rest.exists() or rest.stat().st_mtime < self.library.stat().st_mtime:
            list_of_objects, unfinished = self.work / "kernels.txt", self.work / "unfinished.a"
            list_of_objects.write_text("\n".join(str(k.object) for k in self.kernels))
            unfinished.unlink(missing_ok=True)
            subprocess.run(["ar", "qcT", str(unfinished), f"@{list_of_objects}"], check=True)
            unfinished.rename(rest)  # whole, or not there: the tuner may be killed
        replaced = {item.name for item in objects}
        runtime = [item for item in self.runtime if pathlib.Path(item).name not in replaced]
        subprocess.run([self.compiler, "-shared", "-o", str(library), *map(str, objects), *runtime, str(rest),
                        f"-Wl,--version-script={ROOT}/runtime/exports.map", "-lpthread", "-ldl", "-lm"], check=True)
        return library

    def relink(self, ninja, program, objects):
        """A program of the build, with other objects in place of its kernels of the same names."""
        commands = subprocess.run([ninja, "-C", self.folder, "-t", "commands", program], stdout=subprocess.PIPE,
                                  text=True, check=True).stdout
        relinked = self.work / program
        # A library's member is left out where what it defines is there already.
        command, outputs = re.subn(rf"-o (\S*/{re.escape(program)}) ", f"-o {relinked} @{relinked}.objects ",
                                   commands.splitlines()[-1])
        if outputs != 1:
            raise ValueError(f"{program}: no command links it")
        pathlib.Path(f"{relinked}.objects").write_text("\n".join(map(str, objects)))
        subprocess.run(command, shell=True, cwd=self.folder, check=True)
        return relinked

    def remove(self, name):
        shutil.rmtree(self.work / name, ignore_errors=True)


def code_of(object_file):
    """Two candidates with the same code need not both be timed."""
    return hashlib.sha256(object_file.read_bytes()).hexdigest()[:16]

"""QDQ_CUDA_ARCHITECTURES: what objects hold of each architecture is ptxas's, beside the same PTX; what it refuses.

usage: cuda_architectures_test.py CMAKE PTXAS FOLDER_OF_OBJECTS_WITH_CUBINS FOLDER_OF_OBJECTS
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from kernel_text import compressed_text, cubins, decompressed_text  # noqa: E402

SCRIPT = """
include({root}/cmake/QdqCubins.cmake)
qdq_check_cuda_architectures()
qdq_cubin_parameters("${{QDQ_CUDA_ARCHITECTURES}}" parameters)
message("parameters: ${{parameters}}")
"""


class Objects(unittest.TestCase):
    def test_they_hold_the_ptx_and_what_ptxas_makes_of_it(self):
        paths = sorted(pathlib.Path(with_cubins).glob("*.o"))
        self.assertEqual(len(paths), 3)
        for path in paths:
            compressed = compressed_text(path)
            ptx, found = decompressed_text(compressed), cubins(compressed)
            self.assertEqual(ptx, decompressed_text(compressed_text(pathlib.Path(without) / path.name)))
            self.assertEqual(sorted(found), [80, 86, 90])
            for architecture, cubin in found.items():
                with self.subTest(path.name, architecture=architecture), tempfile.TemporaryDirectory() as folder:
                    (pathlib.Path(folder) / "kernel.ptx").write_text(ptx)
                    made = pathlib.Path(folder) / "kernel.cubin"
                    subprocess.run([ptxas, f"-arch=sm_{architecture}", "-o", made, made.with_suffix(".ptx")], check=True)
                    self.assertEqual(cubin, made.read_bytes())


class Configuration(unittest.TestCase):
    def configured(self, architectures, devices="cuda", assembler=None):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "script.cmake").write_text(SCRIPT.format(root=ROOT))
            done = subprocess.run([cmake, f"-DQDQ_CUDA_ARCHITECTURES={architectures}", f"-DQDQ_DEVICE_TARGETS={devices}",
                                   f"-DQDQ_PTXAS={ptxas if assembler is None else assembler}", "-P", "script.cmake"],
                                  cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
            return done.returncode, " ".join(done.stdout.split())

    def refused(self, *arguments):
        status, said = self.configured(*arguments)
        self.assertNotEqual(status, 0, said)
        return said

    def test_architectures_become_parameters(self):
        self.assertEqual(self.configured("80;90"), (0, f"parameters: ptxas={ptxas};architectures=80,90"))
        self.assertEqual(self.configured("", assembler="QDQ_PTXAS-NOTFOUND"), (0, "parameters:"))

    def test_what_cannot_be_compiled_for_stops_the_build(self):
        self.assertIn('QDQ_CUDA_ARCHITECTURES: "sm_80" is not a number, as 80 and 90 are', self.refused("sm_80"))
        self.assertIn("does not compile for 79: ptxas fatal", self.refused("80;79"))
        self.assertIn("QDQ_CUDA_ARCHITECTURES: QDQ_DEVICE_TARGETS has no cuda", self.refused("80", "opencl"))
        self.assertIn("QDQ_CUDA_ARCHITECTURES: there is no ptxas", self.refused("80", "cuda", "QDQ_PTXAS-NOTFOUND"))


if __name__ == "__main__":
    cmake, ptxas, with_cubins, without = sys.argv[1:]
    unittest.main(argv=sys.argv[:1], verbosity=2)

"""What cmake/nontemporal_stores.py makes of assembly, and what it refuses."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake/nontemporal_stores.py"
KERNEL = """\t.section\t.text.row,"ax",@progbits
\t.globl\trow # -- Begin function row
row:                                    # @row
{}
\tretq
.Lfunc_end0:
\t.size\trow, .Lfunc_end0-row
\t.section\t.text.row_metadata,"ax",@progbits
row_metadata:
"""


class NontemporalStores(unittest.TestCase):
    def converted(self, *instructions, text=KERNEL, name="row"):
        """What the script writes, or says."""
        with tempfile.TemporaryDirectory() as folder:
            source, to = pathlib.Path(folder) / "row.s", pathlib.Path(folder) / "row_nontemporal.s"
            source.write_text(text.format("\n".join(f"\t{i}" for i in instructions)))
            ran = subprocess.run([sys.executable, SCRIPT, source, name, to], capture_output=True, text=True, check=False)
            return to.read_text() if ran.returncode == 0 else ran.stderr

    def instructions(self, *given):
        body = self.converted(*given).partition("# @row_nontemporal\n")[2].partition("\tretq")[0]
        return [line.strip() for line in body.splitlines()]

    def test_whole_registers_to_y(self):
        self.assertEqual(self.instructions("vmovups\t%ymm1, -32(%r10,%rbx,4)", "vmovdqu\t%xmm2, (%rax)", "vmovapd\t%ymm3, 8(%rbp)"),
                         ["vmovntdq\t%ymm1, -32(%r10,%rbx,4)", "vmovntdq\t%xmm2, (%rax)", "vmovntdq\t%ymm3, 8(%rbp)"])

    def test_what_f16_are_converted_to_by_way_of_a_register_that_nothing_else_needs(self):
        self.assertEqual(self.instructions("vmulps\t%ymm0, %ymm2, %ymm1", "vcvtps2ph\t$4, %ymm1, 16(%rdi)"),
                         ["vmulps\t%ymm0, %ymm2, %ymm1", "vcvtps2ph\t$4, %ymm1, %xmm3", "vmovntdq\t%xmm3, 16(%rdi)"])

    def test_refuses_to_convert_f16_where_there_is_none(self):
        every = [f"vxorps\t%ymm{i}, %ymm{i}, %ymm{i}" for i in range(16)]
        self.assertIn("no vector register is free", self.converted(*every, "vcvtps2ph\t$4, %ymm1, 16(%rdi)"))

    def test_loads_comparisons_and_the_stack_stay(self):
        others = ["vmovups\t(%rdi), %ymm1", "vmovups\t%ymm1, 32(%rsp)", "vmovups\t%ymm1, (%rsp,%rax)", "movq\t%rax, 8(%rsp)",
                  "cmpl\t$1, 4(%rdi)", "vmulps\t(%rdi,%rcx,4), %ymm1, %ymm2"]
        self.assertEqual(self.instructions(*others), others)

    def test_refuses_other_stores_to_y(self):
        for store in ("vmovq\t%xmm1, (%r9)", "movb\t%al, (%r9,%rcx)", "vextracti128\t$1, %ymm1, 16(%r9)", "vpextrd\t$1, %xmm1, (%r9)",
                      "sete\t(%r9)", "cmpxchgl\t%eax, (%r9)", "btsl\t$1, (%r9)"):
            self.assertIn(f"stores to y in a way that is not known here: {store}", self.converted(store))

    def test_has_the_function_alone_by_its_new_name(self):
        text = self.converted("vmovups\t%ymm1, (%rax)")
        self.assertIn("\t.globl\trow_nontemporal ", text)
        self.assertIn("\t.size\trow_nontemporal, .Lfunc_end0-row_nontemporal\n", text)
        self.assertNotIn("metadata", text)

    def test_refuses_a_file_without_the_function(self):
        self.assertIn("has no function column", self.converted("nop", name="column"))


if __name__ == "__main__":
    unittest.main()

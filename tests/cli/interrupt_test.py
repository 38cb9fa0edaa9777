import os
import pty
import re
import signal
import subprocess
import time
import unittest

from support import QDQ, CliTest, proceed, sparse_model


class Interrupt(CliTest):
    def setUp(self):
        super().setUp()
        self.input = self.dir / "in.safetensors"
        self.output = self.dir / "out.safetensors"

    def interrupt(self, arguments, number):
        process = self.stop_while_writing(*arguments)
        self.assertFalse(self.output.exists())
        process.send_signal(number)
        begin = time.monotonic()
        self.assertEqual(proceed(process), (-number, "", ""))
        self.assertLess(time.monotonic() - begin, 10)

    def test_a_signal_leaves_nothing(self):
        sparse_model(self.input, 64, 2048)  # 1 GiB
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                self.interrupt(["quantize", self.input, "-o", self.output], number)
                self.assertEqual(self.files(), ["in.safetensors"])

    def test_a_signal_keeps_an_old_output(self):
        sparse_model(self.input, 64, 2048)
        self.output.write_text("old")
        process = self.stop_while_writing("quantize", self.input, "-o", self.output, "--force")
        self.assertEqual(self.output.read_text(), "old")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(proceed(process)[0], -signal.SIGTERM)
        self.assertEqual(self.output.read_text(), "old")
        self.assertEqual(self.files(), ["in.safetensors", "out.safetensors"])

    def test_dequantize_leaves_nothing(self):
        small, codes = self.dir / "small.safetensors", self.dir / "codes.safetensors"
        sparse_model(small, 24, 2048)
        self.succeed("quantize", small, "-o", codes)
        before = self.files()
        self.interrupt(["dequantize", codes, "-o", self.output], signal.SIGTERM)
        self.assertEqual(self.files(), before)

    def test_ignored_signals_stay_ignored(self):
        sparse_model(self.input, 4, 1024)
        process = subprocess.Popen(["sh", "-c", 'trap "" HUP; exec "$@"', "sh", QDQ, "quantize", self.input, "-o",
                                    self.output], stdout=subprocess.DEVNULL)
        while process.poll() is None:
            if self.temporary_files():
                process.send_signal(signal.SIGHUP)
        self.assertEqual(process.returncode, 0)
        self.assertTrue(self.output.exists())


class Progress(CliTest):
    def run_on_terminal(self, *arguments):
        """What appears on standard error when that is a terminal, of a run that is stopped for longer than a bar waits."""
        master, slave = pty.openpty()
        process = self.stop_while_writing(*arguments, stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        time.sleep(0.2)
        process.send_signal(signal.SIGCONT)
        text = b""
        try:
            while piece := os.read(master, 65536):
                text += piece
        except OSError:  # how Linux tells that the other end is closed
            pass
        os.close(master)
        self.assertEqual(process.wait(), 0)
        return text.decode()

    def test_a_bar_on_a_terminal_only(self):
        source, output = self.dir / "in.safetensors", self.dir / "out.safetensors"
        sparse_model(source, 32, 2048)
        self.assertEqual(self.succeed("quantize", source, "-o", output).count("\n"), 2)  # and nothing on stderr
        text = self.run_on_terminal("quantize", source, "-o", output, "--force")
        percentages = [int(number) for number in re.findall(r"\r\[#*\.*\] +(\d+)%", text)]
        self.assertTrue(percentages)
        self.assertEqual(percentages, sorted(percentages))
        self.assertTrue(text.endswith("\r\x1b[K"))  # the line is cleared at the end


if __name__ == "__main__":
    unittest.main()

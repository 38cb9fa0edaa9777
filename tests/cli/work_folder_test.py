"""Folders as outputs where others write, too: what anybody may have prepared, and what --force may replace."""

import os
import shutil
import unittest

import numpy as np

from support import FolderTest, RandomKills, content, proceed, random, run, save_folder, shard_name, start, stop_when

SOMEBODY = 12345


def tree(path):
    """All that a folder has: files with their content, links with their targets, folders."""
    return {str(each.relative_to(path)): os.readlink(each) if each.is_symlink() else each.read_bytes() if each.is_file() else None
            for each in path.rglob("*")}  # fmt: skip


class WorkFolderTest(FolderTest):
    def setUp(self):
        super().setUp()
        weights = [np.tile(random((128, 128), i), (12, 12)) for i in range(4)]  # large enough to be stopped in time
        save_folder(self.model, [{f"model.layers.{i}.q_proj.weight": x} for i, x in enumerate(weights)])
        self.partial = self.dir / ".out.qdq-partial"
        self.victim = self.dir / "victim"
        (self.victim / "deep").mkdir(parents=True)
        for name in ("thesis.tex", "deep/config.json", shard_name(0, 4)):
            (self.victim / name).write_text("mine")
        self.before = tree(self.victim)

    def tearDown(self):
        self.assertEqual(tree(self.victim), self.before)

    def refuse(self, message):
        before = tree(self.dir)
        self.fail_with(message, "quantize", self.model, "-o", self.out, "--dtype", "nvfp4", force=False)
        self.assertEqual(tree(self.dir), before)

    def prepare(self):
        self.partial.mkdir(mode=0o700)

    def stop_after_a_shard(self, *options):
        """A run that is stopped once it has finished a shard, and before the last."""
        process = start("quantize", self.model, "-o", self.out, "--threads", 1, "--dtype", "nvfp4", *options)
        return stop_when(process, lambda: 0 < len(list(self.partial.glob("digests/*.json"))) < 4)

    def leave_partial(self):
        process = self.stop_after_a_shard()
        process.kill()
        process.communicate()


class Prepared(WorkFolderTest):
    def test_a_link_in_place_of_a_folder_is_refused(self):
        self.partial.symlink_to(self.victim)
        self.refuse(".out.qdq-partial: it is a symbolic link")
        self.partial.unlink()
        for name in ("model", "digests"):
            with self.subTest(name=name):
                self.prepare()
                (self.partial / name).symlink_to(self.victim)
                self.refuse(f"holds {name}, which qdq has not written")
                shutil.rmtree(self.partial)

    def test_a_link_among_finished_files_is_refused(self):
        for name, target, message in ((shard_name(0, 4), shard_name(0, 4), "cannot open: Too many levels of symbolic links"),
                                      ("x", "deep", "holds x, which qdq has not written")):
            with self.subTest(name=name):
                self.leave_partial()
                path = self.partial / "model" / name
                path.unlink(missing_ok=True)
                path.symlink_to(self.victim / target)
                self.fail_with(message, "quantize", self.model, "-o", self.out, "--dtype", "nvfp4", force=False)
                shutil.rmtree(self.partial)

    def test_a_folder_that_others_may_write_to_is_refused(self):
        for mode in (0o720, 0o702, 0o777):
            with self.subTest(mode=mode):
                self.leave_partial()
                self.partial.chmod(mode)
                self.refuse("others may write to the folder")
                shutil.rmtree(self.partial)

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_finished_shards_of_another_user_are_refused(self):
        self.leave_partial()
        os.chown(self.partial, SOMEBODY, -1)
        self.refuse(f"belongs to another user ({SOMEBODY})")

    def test_nobody_else_enters_the_working_folder(self):
        self.leave_partial()
        self.assertEqual(self.partial.stat().st_mode & 0o777, 0o700)

    def test_an_own_folder_that_somebody_has_renamed_is_refused(self):
        shutil.copytree(self.victim, self.partial)
        self.partial.chmod(0o700)
        self.refuse("which qdq has not written")

    def test_a_file_whose_name_is_no_utf8_is_copied(self):
        name = os.fsdecode(b"note-\xff.txt")
        (self.model / name).write_text("dear")
        self.succeed("quantize", self.model, "-o", self.out, force=False)
        self.assertEqual((self.out / name).read_text(), "dear")

    def test_a_file_that_was_put_among_finished_ones_stays(self):
        for where in ("", "model", "digests"):
            with self.subTest(where=where):
                self.leave_partial()
                letter = self.partial / where / "letter.txt"
                letter.write_text("dear")
                self.refuse("holds letter.txt, which qdq has not written")
                letter.unlink()
                self.succeed("quantize", self.model, "-o", self.out, force=False)
                self.assertFalse(self.partial.exists())
                shutil.rmtree(self.out)

    def test_a_folder_that_is_exchanged_while_it_is_written_changes_nothing_elsewhere(self):
        process = self.stop_after_a_shard()
        away = self.dir / "away"
        self.partial.rename(away)
        self.partial.symlink_to(self.dir / "decoy")
        (self.dir / "decoy").mkdir()
        for name in ("model", "digests"):
            (self.dir / "decoy" / name).symlink_to(self.victim)
        code, _, error = proceed(process)
        self.assertEqual((code, error), (0, ""))
        self.assertEqual(tree(self.victim), self.before)
        self.succeed("dequantize", self.out, "-o", self.dir / "back")

    @unittest.skipUnless(os.geteuid() == 0, "only root makes links of another user")
    def test_a_link_of_another_user_at_a_files_name_is_refused(self):
        file, link = self.victim / shard_name(0, 4), self.dir / "out.safetensors"
        link.symlink_to(file)
        os.chown(link, SOMEBODY, -1, follow_symlinks=False)
        self.fail_with("a symbolic link of another user", "quantize", self.model / shard_name(0, 4), "-o", link)


    def test_folders_that_were_made_for_the_output_go_with_a_failure(self):
        shutil.rmtree(self.model)
        save_folder(self.model, [{"model.layers.0.q_proj.weight": np.full((4, 32), np.nan, np.float32)}])
        before = tree(self.dir)
        for place in ("new/out", "new/deep/out", "new/deep/out/"):
            self.fail_with("NaN", "quantize", self.model, "-o", f"{self.dir}/{place}")
            self.assertEqual(tree(self.dir), before)


class Replaced(WorkFolderTest):
    def project(self, *files):
        for name in files:
            (self.out / name).parent.mkdir(parents=True, exist_ok=True)
            (self.out / name).write_text("{}")

    def test_a_folder_with_more_than_a_model_is_refused(self):
        for files, lost in (
            (("config.json", "thesis.tex"), "thesis.tex"),
            (("config.json", "chapters/one.tex"), "chapters/one.tex"),
            (("config.json", "model.safetensors", "other.safetensors"), "other.safetensors"),
            (("config.json", "model--of-00002.safetensors"), "model--of-00002.safetensors"),
            (("config.json", "model-x-of-00002.safetensors"), "model-x-of-00002.safetensors"),
            (("config.json", ".git/config"), ".git/config"),
            (("config.json", *"1234567"), "1, 2, 3, 4, 5 and 2 more"),
        ):
            with self.subTest(lost=lost):
                self.project(*files)
                before = tree(self.out)
                self.fail_with(f"--force would lose what no model has: {lost}\n", "quantize", self.model, "-o", self.out)
                self.assertEqual(tree(self.out), before)
                shutil.rmtree(self.out)

    def test_what_a_model_has_is_replaced(self):
        self.project("config.json", "tokenizer.json", "1_Pooling/config.json", "model-00001-of-00009.safetensors",
                     "model.safetensors.index.json", "sub/tokenizer.json")  # fmt: skip
        self.succeed("quantize", self.model, "-o", self.out)
        self.succeed("quantize", self.model, "-o", self.dir / "other")
        self.assertEqual(content(self.out), content(self.dir / "other"))
        self.assertFalse(self.partial.exists())

    def test_what_the_new_model_has_by_another_name_is_replaced(self):
        (self.model / "modeling.py").write_text("pass")
        self.succeed("quantize", self.model, "-o", self.out)
        self.succeed("quantize", self.model, "-o", self.out, "--dtype", "mxfp4")
        self.assertEqual((self.out / "modeling.py").read_text(), "pass")

    def test_a_link_is_refused(self):
        shutil.copytree(self.model, self.dir / "old")
        self.out.symlink_to(self.dir / "old")
        before = tree(self.dir)
        self.fail_with("exists, and is no folder but a symbolic link", "quantize", self.model, "-o", self.out)
        self.assertEqual(tree(self.dir), before)

    def test_a_letter_that_comes_while_the_new_model_is_written_stays(self):
        self.succeed("quantize", self.model, "-o", self.out)
        old = tree(self.out)
        process = self.stop_after_a_shard("--force")
        (self.out / "letter.txt").write_text("dear")
        code, _, error = proceed(process)
        self.assertEqual(code, 1)
        self.assertIn("would lose what no model has: letter.txt", error)
        self.assertEqual(tree(self.out), old | {"letter.txt": b"dear"})

    def test_two_runs_killed_at_any_moment_leave_the_old_model_or_the_new_one(self):
        possible, kills = [], RandomKills(3)
        shutil.rmtree(self.model)
        save_folder(self.model, [{f"model.layers.{i}.q_proj.weight": random((256, 256), i)} for i in range(3)])
        for dtype in ("i8", "mxfp4"):
            kills.time(self.succeed, "quantize", self.model, "-o", self.dir / dtype, "--dtype", dtype)
            possible.append(content(self.dir / dtype))
        shutil.copytree(self.dir / "i8", self.out)
        for _ in range(60):
            runs = [start("quantize", self.model, "-o", self.out, "--force", "--dtype", dtype) for dtype in ("mxfp4", "i8")]
            for process in runs:
                kills.kill(process)
            self.assertIn(content(self.out), possible)
        self.assertGreater(kills.killed, 10)
        self.succeed("quantize", self.model, "-o", self.out, "--dtype", "mxfp4", warned="of an earlier run")
        self.assertEqual(content(self.out), possible[1])
        self.assertEqual(self.files(), ["i8", "model", "mxfp4", "out", "victim"])


class OtherFiles(WorkFolderTest):
    def test_temporary_files_of_killed_runs_are_not_copied(self):
        for name in (".qdq-0123456789abcdef.tmp", "deep/.qdq-0123456789abcdef.tmp", "deep/.qdq-0123.tmp"):
            (self.model / name).parent.mkdir(exist_ok=True)
            (self.model / name).write_text("")
        self.succeed("quantize", self.model, "-o", self.out)
        self.assertEqual([each for each in tree(self.out) if ".tmp" in each], ["deep/.qdq-0123.tmp"])

    def test_what_cannot_be_copied_fails_before_anything_is_written(self):
        odd = self.model / "odd"
        for make, message in (
            (lambda: odd.symlink_to("odd"), "odd: cannot read: Too many levels of symbolic links"),
            (lambda: odd.symlink_to("nowhere"), "odd: cannot read: No such file"),
            (lambda: odd.symlink_to("."), "odd: it leads to a folder that belongs to the model already"),
            (lambda: odd.symlink_to("sub"), "sub: it leads to a folder that belongs to the model already"),
            (lambda: os.mkfifo(odd), "odd: it is neither a file nor a folder"),
        ):
            with self.subTest(message=message):
                make()
                self.refuse(message)
                self.fail_with(message, "quantize", self.model, "--dry-run", "--quiet", force=False)
                odd.unlink()

    def test_folders_that_links_lead_to_are_copied(self):
        (self.model / "other").mkdir()
        (self.model / "other" / "vocab.json").write_text("[]")
        (self.model / "other").rename(self.dir / "elsewhere")
        (self.model / "linked").symlink_to("../elsewhere")
        result = run("quantize", self.model, "-o", self.out)
        self.assertEqual(result.returncode, 0)
        self.assertIn("a link leads out of the folder: linked/vocab.json -> ", result.stderr)
        self.assertEqual((self.out / "linked" / "vocab.json").read_text(), "[]")
        self.assertFalse((self.out / "linked").is_symlink())

    def blob(self):
        """Where it would be in the hub's cache, were this one."""
        blob = self.dir.resolve().parent / "blobs" / self.dir.name
        blob.parent.mkdir(exist_ok=True)
        blob.write_text("{}")
        self.addCleanup(blob.unlink, missing_ok=True)
        return blob

    def test_links_out_of_the_folder_are_named(self):
        (self.model / "added_tokens.json").symlink_to(self.victim / "thesis.tex")
        (self.model / "inside.json").symlink_to("config.json")
        (self.model / "vocab.json").symlink_to(self.blob())
        for options in (("--dry-run",), ("-o", self.out)):
            result = run("quantize", self.model, *options, force=False)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (0, 2), result.stderr)
            self.assertIn(f"added_tokens.json -> {self.victim.resolve()}/thesis.tex\n", result.stderr)
            self.assertIn(f"vocab.json -> {self.blob()}\n", result.stderr)
        self.assertEqual((self.out / "inside.json").read_text(), (self.model / "config.json").read_text())

    def test_the_links_of_the_hubs_cache_are_not(self):
        snapshot = self.dir / "models--m" / "snapshots" / "0123abc"
        shutil.copytree(self.model, snapshot)
        blobs = self.dir / "models--m" / "blobs"
        blobs.mkdir()
        for i, file in enumerate(sorted(snapshot.glob("*.*"))):
            file.rename(blobs / str(i))
            file.symlink_to(f"../../blobs/{i}")
        self.succeed("quantize", snapshot, "-o", self.out)
        self.succeed("quantize", self.model, "-o", self.dir / "other")
        self.assertEqual(content(self.out), content(self.dir / "other"))


if __name__ == "__main__":
    unittest.main()

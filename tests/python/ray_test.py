"""qdq.checkpoint on a local Ray cluster of several processes: one machine's bytes, whatever is killed.

Skipped where Ray is not installed.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("ray")

from checkpoint_test import RECIPE, contents, make_model  # noqa: E402

import qdq.checkpoint  # noqa: E402

KILLS = 10

DRIVER = """
import json, sys
import ray
import qdq.checkpoint
ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
qdq.checkpoint.quantize(sys.argv[1], sys.argv[2], recipe=json.loads(sys.argv[3]), ray="local")
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("models") / "model", shards=8, rows=4096)


@pytest.fixture(scope="module")
def expected(model):
    out = model.parent / "on-one-machine"
    qdq.checkpoint.quantize(model, out, recipe=RECIPE)
    return contents(out)


def drive(model, out):
    return subprocess.Popen([sys.executable, "-c", DRIVER, model, out, json.dumps(RECIPE)], start_new_session=True)


def workers(driver):
    """The processes that run a task of the driver's cluster."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if b"ray::_write_shard" in (folder / "cmdline").read_bytes():
                session = os.getsid(int(folder.name))
                found += [int(folder.name)] if session == driver.pid else []
        except (OSError, ProcessLookupError):
            continue
    return found


def kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end(driver):
    """Ends what is left of the driver's own cluster."""
    try:
        os.killpg(driver.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    driver.wait()


def test_gives_the_bytes_of_one_machine(model, expected, tmp_path):
    driver = drive(model, tmp_path / "out")
    assert driver.wait(timeout=300) == 0
    end(driver)
    assert contents(tmp_path / "out") == expected


def test_the_command_line_gives_the_bytes_of_one_machine(model, tmp_path):
    def quantize(out, *more):
        options = ["--dtype", "i4", "--block-size", "32", "--asymmetric", "--exclude", "*layers.1.*", *more]
        command = [os.environ["QDQ_CLI"], "quantize", model, "-o", out, "--profile", "onnx", *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    environment = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    by_one, by_ray = quantize(tmp_path / "one"), quantize(tmp_path / "ray", "--ray", "local")
    assert contents(tmp_path / "ray") == contents(tmp_path / "one")
    assert by_one.startswith(by_ray) and by_ray.startswith("quantized 14 of 24 tensors")


def test_a_killed_worker_changes_nothing(model, expected, tmp_path):
    draw, killed = random.Random(1), 0
    for _ in range(10 * KILLS):
        if killed >= KILLS:
            break
        driver = drive(model, tmp_path / "out")
        while driver.poll() is None and killed < KILLS:
            for worker in workers(driver)[:1]:
                time.sleep(draw.uniform(0, 0.05))
                kill(worker)
                killed += 1
            time.sleep(0.001)
        assert driver.wait(timeout=300) == 0
        end(driver)
        assert contents(tmp_path / "out") == expected
        shutil.rmtree(tmp_path / "out")
    assert killed >= KILLS


def test_a_killed_driver_is_gone_on_from(model, expected, tmp_path):
    draw, killed, out = random.Random(2), 0, tmp_path / "out"
    for _ in range(10 * KILLS):
        if killed >= KILLS:
            break
        driver = drive(model, out)
        while driver.poll() is None and not workers(driver):
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.3))
        end(driver)
        killed += not out.exists()
        if out.exists():  # it was faster
            assert contents(out) == expected
            shutil.rmtree(out)
    assert killed >= KILLS
    driver = drive(model, out)
    assert driver.wait(timeout=300) == 0
    end(driver)
    assert contents(out) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["out"]

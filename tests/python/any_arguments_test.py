"""Calls of any arguments: any_arguments.py has what they may do."""

import pathlib

import any_arguments
import numpy
import pytest
from hypothesis import given, settings, strategies as st

import qdq

CORPUS = pathlib.Path(__file__).parents[1] / "fuzz/corpus/python"


@pytest.fixture(autouse=True)
def one_thread():
    qdq.set_num_threads(1)
    yield
    qdq.set_num_threads(0)


@settings(deadline=None, max_examples=1000)
@given(st.binary(min_size=60, max_size=300))
def test_calls_that_hypothesis_draws_return_or_raise_what_they_may(data):
    any_arguments.one_input(data)


def test_calls_of_random_bytes_return_or_raise_what_they_may():
    random = numpy.random.default_rng(0)
    for length in random.integers(8, 300, 5000):
        any_arguments.one_input(random.bytes(length))


def test_the_fuzzers_corpus_finds_nothing():
    inputs = [path for path in sorted(CORPUS.iterdir()) if path.is_file()]
    assert inputs
    for path in inputs:
        print(path.name)  # a crash is the last one's
        any_arguments.one_input(path.read_bytes())


def test_results_are_among_what_is_drawn():
    """That calls succeed, which is compared, and that arguments act while they are read, is not left to chance."""
    done = {"compared": 0, "acted": 0}
    check_result, act = any_arguments.check_result, any_arguments.Draw.act

    def counted(name, function):
        def count(*arguments):
            done[name] += 1
            return function(*arguments)

        return count

    for call in (any_arguments.dynamic, any_arguments.transcode):
        compared = 0
        for seed in range(400):
            draw = any_arguments.Draw(numpy.random.default_rng(seed).bytes(200))
            any_arguments.attempt(draw, call)
            compared += draw.compared
        assert compared > 20
    any_arguments.check_result = counted("compared", check_result)
    any_arguments.Draw.act = counted("acted", act)
    try:
        random = numpy.random.default_rng(1)
        for _ in range(500):
            any_arguments.one_input(random.bytes(200))
    finally:
        any_arguments.check_result, any_arguments.Draw.act = check_result, act
    assert done["compared"] > 40 and done["acted"] > 10

"""What tools/tune.py and the tests of schedules share: compile a kernel with other parameters, time it, keep a record."""

#!/bin/sh
# usage: on_interpreter.sh FOLDER THIN REPORT COMMAND...
# The command with the libcuda.so.1 of the folder, whose report of what ran is added to a file; it takes one of THIN like
# cases, unless QDQ_TEST_THIN says otherwise.
export LD_LIBRARY_PATH="$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" QDQ_TEST_THIN="${QDQ_TEST_THIN:-$2}" QDQ_PTX_REPORT="$3"
rm -f "$3"
shift 3
exec "$@"

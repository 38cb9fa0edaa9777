#!/bin/sh
# usage: on_oclgrind.sh FOLDER COMMAND...
# The command with Oclgrind as the one driver of OpenCL, whose file .icd is in the folder. It fails where Oclgrind saw an
# access out of bounds, a race, a value that was never written, or a wrong call; one of 16 like cases is taken, unless
# QDQ_TEST_THIN says otherwise.
log=$1/oclgrind-$$.log
export OCL_ICD_VENDORS="$1" OCLGRIND_LOG="$log" OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 OCLGRIND_UNINITIALIZED=1
export OCLGRIND_MAX_ERRORS=10 QDQ_TEST_THIN="${QDQ_TEST_THIN:-16}"
shift
"$@"
status=$?
if [ -s "$log" ]; then
    cat "$log"
    status=1
fi
rm -f "$log"
exit $status

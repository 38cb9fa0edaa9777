// Of builds that count lines: what a process has counted is written before a signal that it raises ends it.
extern "C" {

void __gcov_dump();  // of libgcov
int __real_raise(int signal);

int __wrap_raise(int signal) {
    __gcov_dump();
    return __real_raise(signal);
}

}  // extern "C"

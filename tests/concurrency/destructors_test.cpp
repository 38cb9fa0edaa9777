// A program that calls before main and after it: from constructors, destructors and exit handlers. It ends with 1 where
// one of the calls was wrong.
#include "calls_at_both_ends.h"

#include <unistd.h>

#include <cstdlib>

namespace {

void require(bool was_right) {
    if (!was_right) {
        _exit(1);
    }
}
void call() { require(concurrency_test::a_split_call_is_right()); }

[[gnu::constructor]] void call_before_objects() { call(); }
[[gnu::destructor]] void call_after_objects() { call(); }
const concurrency_test::calls_at_both_ends object(require, require);

}  // namespace

int main() { return std::atexit(call); }

// Valid calls, drawn as those of api.random are.
#include "checked_call.h"

#include "api/drawn_call.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    test_support::byte_choices from(std::span(data, size));
    const api_test::drawn_call drawn(from, 600000);
    fuzz::check_call(
        {drawn.way, *drawn.x, *drawn.scale, drawn.zero_point ? &*drawn.zero_point : nullptr, *drawn.y, drawn.options},
        from);
    return 0;
}

// The entry of a target in a table that is not part of targets themselves.
#pragma once

#include "targets/kernel_table.h"

#include <cstring>

namespace qdq::runtime {

// `table` has one for the target.
template<typename Entry> const Entry &entry_of(const target &t, const Entry *table) {
    while (std::strcmp(table->target, t.name) != 0) {
        table++;
    }
    return *table;
}

}  // namespace qdq::runtime

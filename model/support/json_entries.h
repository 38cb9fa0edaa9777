#pragma once

#include "support/json.h"

#include <cstddef>
#include <string>

namespace qdq::model {

// What is done with a JSON object of objects, {"x": {"dtype": "F32", "shape": [2, 3]}, ...}, while it is parsed.
class entry_visitor {
public:
    virtual ~entry_visitor() = default;

    // An entry begins, here x. Nothing is told about the inside of one that is no object.
    virtual void begin(const std::string &name, bool is_object) = 0;

    // A field of the entry, here "dtype" and "shape". In a list, what is itself a list or an object is null; an object
    // is empty.
    virtual void field(const std::string &key, json value) = 0;

    virtual void end() = 0;
};

// Parses a header in a time linear in its length and in little memory beside it. Throws what the visitor throws, and
// failures: not valid JSON, no object, a list of more than `max_list` values. Names may come twice; that is for the
// visitor to see.
void visit_entries(const std::string &header, size_t max_list, entry_visitor &visitor);

}  // namespace qdq::model

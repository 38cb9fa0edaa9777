#include "nan.h"

#include <stdexcept>
#include <string>

namespace ptx {

nan_choice nan_choice_named(std::string_view name) {
    if (name == "drawn") {
        return nan_choice::drawn;
    }
    if (name == "canonical") {
        return nan_choice::canonical;
    }
    if (name == "propagated") {
        return nan_choice::propagated;
    }
    if (name == "any") {
        return nan_choice::any;
    }
    throw std::invalid_argument("no choice of NaN is \"" + std::string(name) + "\": drawn, canonical, propagated, any");
}

}  // namespace ptx

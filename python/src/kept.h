// Python's objects that the first call makes, and that are kept as long as the interpreter runs.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>

namespace qdq::python {

// The object at `place`, or what `make` gives where there is none. Of threads that make one at once all get the first,
// and none waits. Of a static variable's initializer they would wait for the first thread. In a free-threaded
// interpreter that can last for ever: collecting garbage stops the first thread, and then waits for the others.
template<typename Make> nanobind::handle kept(std::atomic<PyObject *> &place, Make make) {
    PyObject *found = place.load(std::memory_order_acquire);
    if (found == nullptr) {
        nanobind::object made = make();
        if (place.compare_exchange_strong(found, made.ptr(), std::memory_order_acq_rel, std::memory_order_acquire)) {
            found = made.release().ptr();
        }
    }
    return found;
}

}  // namespace qdq::python

// What a plugin that links the static library lets its host do with it.
#pragma once

#include <qdq/qdq.h>

struct plugin_interface {
    decltype(qdq_quantize) *quantize;
    decltype(qdq_force_target) *force_target;
    decltype(qdq_current_target) *current_target;
    decltype(qdq_set_num_threads) *set_num_threads;
    decltype(qdq_set_parallel_for) *set_parallel_for;
    bool constructor_was_right;  // of an object of the plugin's, which calls
    bool *destructor_was_right;  // set where it is not NULL
};

extern "C" [[gnu::visibility("default")]] plugin_interface *get_plugin_interface();

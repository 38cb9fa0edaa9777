#include "plugin.h"

#include "calls_at_both_ends.h"

namespace {

plugin_interface interface{qdq_quantize, qdq_force_target, qdq_current_target, qdq_set_num_threads,
                           qdq_set_parallel_for};

const concurrency_test::calls_at_both_ends object([](bool right) { interface.constructor_was_right = right; },
                                                  [](bool right) {
                                                      if (interface.destructor_was_right) {
                                                          *interface.destructor_was_right = right;
                                                      }
                                                  });

}  // namespace

plugin_interface *get_plugin_interface() { return &interface; }

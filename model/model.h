#pragma once

#include "conversion/bit_allocation.h"
#include "conversion/comparison.h"
#include "conversion/dequantization.h"
#include "conversion/inspection.h"
#include "conversion/model_output.h"
#include "conversion/quantization.h"
#include "conversion/recoding.h"
#include "conversion/report.h"
#include "files/file_kinds.h"
#include "tensors/odd_scales.h"

// What becomes of whole models, files or folders, for the command line and for Python's qdq.checkpoint. Nothing here
// prints or ends the process; what goes wrong is thrown: usage_error, failure (support/error.h), std::bad_alloc.
//
//   quantization plan(open_reader(input), rules, profile);         what becomes of each tensor, by its name, type and
//                                                                  shape alone; also plan_dequantization(), and
//                                                                  plan_recoding(), which keeps the codes
//   finished_shards finished;
//   write_output(plan, output, 0, advance, finished);              all of it, on all processors
//
//   model_output shards(plan, output);                             of a folder, on many machines that share a disk:
//   shards.begin();                                                the first process, which waits,
//   model_output(plan, output).write_shard(i, advance);            others with the same plan and output,
//   shards.finish();                                               and the first again
//
// comparer, inspect() and write_report() look at what there is, allocate_bits() at what would become of it.
namespace qdq::model {

struct summary {
    size_t tensors_before = 0, tensors_after = 0, changed = 0;
    uint64_t bytes_before = 0, bytes_after = 0;
};

summary summary_of(const transformation &plan);

// The files of a model's folder that links lead to out of it, a sentence for each: what they lead to is copied.
std::vector<std::string> links_out(const transformation &plan);

}  // namespace qdq::model

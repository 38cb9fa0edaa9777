// A test that has this takes every processor for one that is slow with subnormal numbers, so that quantize takes them
// for zeros wherever it may (runtime/src/targets/cpu_features.h): no fault in that is one machine's alone.
namespace qdq::runtime {

bool slow_with_subnormals();
bool slow_with_subnormals() { return true; }

}  // namespace qdq::runtime

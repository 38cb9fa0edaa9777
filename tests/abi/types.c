/* Compiled for its debugging information, which says how this compiler lays the public types out. */
#include <qdq/blocks.h>
#include <qdq/qdq.h>

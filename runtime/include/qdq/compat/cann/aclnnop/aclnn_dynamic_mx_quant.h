/* CANN's path to what is in qdq/compat/aclnn.h. */
#include <qdq/compat/aclnn.h>

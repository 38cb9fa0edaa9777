#include "support/renaming.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace qdq::model {

// Its flags are 0, RENAME_NOREPLACE and RENAME_EXCHANGE.
int rename_from(int folder, const char *name, int new_folder, const char *new_name, renaming how) {
    return static_cast<int>(syscall(SYS_renameat2, folder, name, new_folder, new_name, static_cast<unsigned>(how)));
}

}  // namespace qdq::model

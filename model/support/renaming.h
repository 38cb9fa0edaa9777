#pragma once

namespace qdq::model {

// How rename_from() treats a name that is taken: it replaces it, fails with EEXIST, or exchanges the two.
enum class renaming : unsigned { replaces, keeps, exchanges };

// The kernel's renameat2(), which not every C library has: 0, or -1 with errno.
int rename_from(int folder, const char *name, int new_folder, const char *new_name, renaming how);

}  // namespace qdq::model

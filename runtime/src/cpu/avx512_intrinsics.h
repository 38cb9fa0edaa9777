// Intrinsics, for files that are compiled for AVX-512.
#pragma once

#include <immintrin.h>

// GCC 12 warns of what its own intrinsics leave undefined (GCC bug 105593).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

// What stands in the C library's place.
#pragma once

// Seen by libraries that are loaded, also where nothing else of ours is; and whole, since it may park (base/platform.h).
#define THRUM_POSIX_CALL extern "C" __attribute__((visibility("default"))) THRUM_OPAQUE

// A name of its own for each file: by it the anchor (calls.cpp) asks for the file. By `read` it would not have it, if something else in the
// program has one already, as a sanitizer's runtime does.
#define THRUM_POSIX_FILE(name)                                                    \
  extern "C" __attribute__((visibility("hidden"))) char const thrum_posix_##name; \
  char const thrum_posix_##name = 0

// What stands in the C library's place.
#pragma once

// Seen by libraries that are loaded, also where nothing else of ours is; and whole, since it may park (base/platform.h).
#define THRUM_POSIX_CALL extern "C" __attribute__((visibility("default"))) THRUM_OPAQUE

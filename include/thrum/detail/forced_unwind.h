// How to catch goexit, where it must be told from an exception.
//
// The C++ library gives the handler of a forced unwinding a reference to nothing, which UBSan would report: functions with
// such a handler carry THRUM_CATCHES_FORCED_UNWIND.
#pragma once

#include <cxxabi.h>

#define THRUM_CATCHES_FORCED_UNWIND __attribute__((no_sanitize("null")))

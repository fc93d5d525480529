// What the compiler says about this build (sanitizers, debug checks), and the few attributes that correctness depends
// on.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define THRUM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define THRUM_ASAN 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define THRUM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THRUM_TSAN 1
#endif
#endif

#ifndef THRUM_ASAN
#define THRUM_ASAN 0
#endif
#ifndef THRUM_TSAN
#define THRUM_TSAN 0
#endif
#ifndef THRUM_DEBUG_CHECKS
#define THRUM_DEBUG_CHECKS 0
#endif

// For functions that contain a stack switch or read a thread-local address. They must not be inlined, for two reasons.
// A copy of the switch in a frame with alloca or over-aligned locals would lose its base pointer. And a compiler that
// sees the body may reuse a thread-local address after the goroutine has moved to another thread.
#if defined(__clang__)
#define THRUM_OPAQUE __attribute__((noinline))
#else
#define THRUM_OPAQUE __attribute__((noinline, noipa))
#endif

#if defined(__clang__)
#define THRUM_NO_TSAN __attribute__((no_sanitize("thread")))
#define THRUM_NO_ASAN __attribute__((no_sanitize("address")))
#else
#define THRUM_NO_TSAN __attribute__((no_sanitize_thread))
#define THRUM_NO_ASAN __attribute__((no_sanitize_address))
#endif

namespace thrum::rt {

inline constexpr bool with_asan = THRUM_ASAN != 0;
inline constexpr bool with_tsan = THRUM_TSAN != 0;
inline constexpr bool debug_checks = THRUM_DEBUG_CHECKS != 0;

// 64 on x86_64 and on common aarch64 cores. Keeping words two lines apart would also avoid the effects of the
// adjacent-line prefetcher, but would double the size of every P.
inline constexpr unsigned cache_line_bytes = 64;

}  // namespace thrum::rt

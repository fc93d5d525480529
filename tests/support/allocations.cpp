#include "support/allocations.h"

#include "base/atomic.h"
#include "base/check.h"
#include "core/current.h"
#include "os/loaded_code.h"

#include <cerrno>
#include <cstddef>

#include <dlfcn.h>
#include <pthread.h>

namespace thrum::test {
namespace {

constinit rt::atomic<std::uint64_t> made{0};
constinit thread_local std::uint64_t made_here __attribute__((tls_model("initial-exec"))) = 0;

}  // namespace

std::uint64_t allocations_made() { return made.load(rt::relaxed); }  // relaxed: a statistic
std::uint64_t allocations_made_here() { return made_here; }

}  // namespace thrum::test

#if !THRUM_ASAN && !THRUM_TSAN

// This symbol exists only if thrum::posix_locks is linked. Then pthread_join is the one of that library, so the frees
// that libc makes inside a join cannot be told from others, and `free` is not checked.
extern "C" __attribute__((weak)) char const* const thrum_posix_locks_calls[];

namespace thrum::test {
namespace {

bool joins_are_seen() {
  auto const* others = &thrum_posix_locks_calls;
  asm("" : "+r"(others));  // hides the address from the compiler, which may assume that it is not null
  return others == nullptr;
}

constinit rt::atomic<bool> is_guarding{false};

// The nesting depth of calls into libc that may allocate although the mark is set.
constinit thread_local int excused __attribute__((tls_model("initial-exec"))) = 0;

void look(char const* function) {
  if (!is_guarding.load(rt::relaxed)) return;  // relaxed: set before the first thread
  rt::M const* const m = rt::current_m();
  if (m == nullptr || !m->in_runtime.load(rt::relaxed) || excused > 0) return;
  is_guarding.store(false, rt::relaxed);
  rt::fatal("T01: %s inside the runtime, on M %d", function, m->id);
}

void note_allocation(char const* function) {
  made.fetch_add(1U, rt::relaxed);
  ++made_here;
  look(function);
}

// libc's functions, which the functions below replace. They are looked up once, because dlsym itself may allocate.
template <class F>
F libc_function(char const* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

struct libc_functions {
  int (*attr_init)(pthread_attr_t*) = libc_function<int (*)(pthread_attr_t*)>("pthread_attr_init");
  int (*attr_destroy)(pthread_attr_t*) = libc_function<int (*)(pthread_attr_t*)>("pthread_attr_destroy");
  int (*join)(pthread_t, void**) = libc_function<int (*)(pthread_t, void**)>("pthread_join");
};

libc_functions const& libc() {
  static libc_functions const functions;
  return functions;
}

}  // namespace

void guard_the_runtime() {
  static_cast<void>(libc());
  // With link-time optimisation, this may be the only reference that makes the linker take the symbol from the archive,
  // which the asm of current_m names.
  static_cast<void>(rt::address_of_current_m());
  rt::os::trust_the_programs_malloc();
  is_guarding.store(true, rt::relaxed);
}

}  // namespace thrum::test

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* gone);

void* malloc(std::size_t bytes) noexcept {
  thrum::test::note_allocation("malloc");
  return __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  thrum::test::note_allocation("calloc");
  return __libc_calloc(count, bytes);
}

void* realloc(void* old, std::size_t bytes) noexcept {
  thrum::test::note_allocation("realloc");
  return __libc_realloc(old, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  thrum::test::note_allocation("memalign");
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  thrum::test::note_allocation("aligned_alloc");
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  thrum::test::note_allocation("posix_memalign");
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}

void free(void* gone) noexcept {
  if (gone != nullptr && thrum::test::joins_are_seen()) thrum::test::look("free");
  __libc_free(gone);
}

int pthread_attr_init(pthread_attr_t* attributes) noexcept {
  int const error = thrum::test::libc().attr_init(attributes);
  if (error == 0) ++thrum::test::excused;
  return error;
}

int pthread_attr_destroy(pthread_attr_t* attributes) noexcept {
  int const error = thrum::test::libc().attr_destroy(attributes);
  if (thrum::test::excused > 0) --thrum::test::excused;
  return error;
}

__attribute__((weak)) int pthread_join(pthread_t thread, void** result) {
  ++thrum::test::excused;
  int const error = thrum::test::libc().join(thread, result);
  --thrum::test::excused;
  return error;
}
}  // extern "C"

#else

void thrum::test::guard_the_runtime() {}

#endif

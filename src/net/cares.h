// c-ares as a set of function pointers: it is loaded when it is first needed, and never linked.
#pragma once

#include <ares.h>
#include <dlfcn.h>

namespace thrum::rt {

// clang-format off
#define THRUM_CARES_FUNCTIONS(each)                                                              \
  each(ares_library_init) each(ares_init_options) each(ares_destroy) each(ares_cancel)           \
  each(ares_set_servers_ports_csv) each(ares_getaddrinfo) each(ares_freeaddrinfo)                \
  each(ares_timeout) each(ares_process_fd)
// clang-format on

// The functions that we use, under their own names.
struct cares {
#define THRUM_DECLARE(name) decltype(&::name) name = nullptr;
  THRUM_CARES_FUNCTIONS(THRUM_DECLARE)
#undef THRUM_DECLARE
  bool is_ready = false;

  static cares const& loaded() {
    static cares const once;
    return once;
  }

 private:
  cares() noexcept {
    void* const handle = ::dlopen("libcares.so.2", RTLD_LAZY | RTLD_LOCAL);  // stays loaded
    if (handle == nullptr) return;
    is_ready = true;
#define THRUM_LOOK_UP(name)                                        \
  name = reinterpret_cast<decltype(name)>(::dlsym(handle, #name)); \
  is_ready = is_ready && name != nullptr;
    THRUM_CARES_FUNCTIONS(THRUM_LOOK_UP)
#undef THRUM_LOOK_UP
    is_ready = is_ready && ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS;
  }
};

}  // namespace thrum::rt

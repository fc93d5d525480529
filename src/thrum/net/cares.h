// c-ares as a set of function pointers. The library is loaded at the first lookup and is never linked.
//
// The declarations that thrum uses (c-ares 1.16 and later) are repeated here, so that thrum can be built without the
// header of c-ares. They are stable within libcares.so.2, because new options are added at the end of ares_options, and
// a mask says which options c-ares reads.
#pragma once

#include "base/first_made.h"
#include "os/shared_library.h"

#include <memory>
#include <type_traits>

#include <dlfcn.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace thrum::rt {

// NOLINTBEGIN(readability-identifier-naming): the names are those of c-ares
// --- as in <ares.h> ---

struct ares_channeldata;
using ares_channel = ares_channeldata*;
using ares_socket_t = int;
inline constexpr ares_socket_t ARES_SOCKET_BAD = -1;
inline constexpr int ARES_LIB_INIT_ALL = 1;

enum ares_status : int {
  ARES_SUCCESS = 0,
  ARES_ENODATA = 1,
  ARES_ESERVFAIL = 3,
  ARES_ENOTFOUND = 4,
  ARES_EREFUSED = 6,
  ARES_EBADNAME = 8,
  ARES_ECONNREFUSED = 11,
  ARES_ETIMEOUT = 12,
  ARES_ENOMEM = 15,
  ARES_ENONAME = 19,
  ARES_ECANCELLED = 24,
};

enum ares_option : int {
  ARES_OPT_TRIES = 1 << 2,
  ARES_OPT_SOCK_STATE_CB = 1 << 9,
  ARES_OPT_TIMEOUTMS = 1 << 13,
};

struct ares_options {
  int flags;
  int timeout;
  int tries;
  int ndots;
  unsigned short udp_port;
  unsigned short tcp_port;
  int socket_send_buffer_size;
  int socket_receive_buffer_size;
  void* servers;
  int nservers;
  char** domains;
  int ndomains;
  char* lookups;
  void (*sock_state_cb)(void* data, ares_socket_t, int readable, int writable);
  void* sock_state_cb_data;
  char others[256];  // space for the options of other versions, which c-ares does not read because the mask omits them
};

struct ares_addrinfo_hints {
  int ai_flags;
  int ai_family;
  int ai_socktype;
  int ai_protocol;
};

struct ares_addrinfo_node {
  int ai_ttl;
  int ai_flags;
  int ai_family;
  int ai_socktype;
  int ai_protocol;
  socklen_t ai_addrlen;
  sockaddr* ai_addr;
  ares_addrinfo_node* ai_next;
};

struct ares_addrinfo {
  void* cnames;
  ares_addrinfo_node* nodes;
  char* name;
};

using ares_addrinfo_callback = void (*)(void* data, int status, int timeouts, ares_addrinfo* result);

// NOLINTEND(readability-identifier-naming)

// --- the functions ---

// clang-format off
#define THRUM_CARES_FUNCTIONS(each)                                                                                   \
  each(ares_library_init, int(int))                                                                                   \
  each(ares_init_options, int(ares_channel*, ares_options*, int))                                                     \
  each(ares_destroy, void(ares_channel))                                                                              \
  each(ares_cancel, void(ares_channel))                                                                               \
  each(ares_set_servers_ports_csv, int(ares_channel, char const*))                                                    \
  each(ares_getaddrinfo, void(ares_channel, char const*, char const*, ares_addrinfo_hints const*,                     \
                              ares_addrinfo_callback, void*))                                                         \
  each(ares_freeaddrinfo, void(ares_addrinfo*))                                                                       \
  each(ares_timeout, timeval*(ares_channel, timeval*, timeval*))                                                      \
  each(ares_process_fd, void(ares_channel, ares_socket_t, ares_socket_t))
// clang-format on

// The functions of c-ares, under their own names. is_ready says that the library was found, has all of them and is
// initialised.
struct cares {
#define THRUM_DECLARE(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  THRUM_CARES_FUNCTIONS(THRUM_DECLARE)
#undef THRUM_DECLARE
  bool is_ready = false;

  static cares const& loaded() {
    static constinit first_made<cares> functions;
    // Two users may both make one, because ares_library_init counts its users.
    return functions.get([] { return std::unique_ptr<cares>(new cares); });
  }

 private:
  cares() noexcept {
    void* const handle = os::load_library("libcares.so.2");
    if (handle == nullptr) return;
    is_ready = true;
#define THRUM_LOOK_UP(name, ...)                                   \
  name = reinterpret_cast<decltype(name)>(::dlsym(handle, #name)); \
  is_ready = is_ready && name != nullptr;
    THRUM_CARES_FUNCTIONS(THRUM_LOOK_UP)
#undef THRUM_LOOK_UP
    is_ready = is_ready && ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS;
  }
};

}  // namespace thrum::rt

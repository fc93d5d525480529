// Built by check.cmake against an installed thrum.
#include <thrum/thrum.h>
#ifdef USES_thrum_tls
#include <thrum/tls.h>
#endif
#ifdef USES_thrum_debug
#include <thrum/debug.h>
#endif

#include <cstdio>

int main() {
  return thrum::run([] {
#ifdef USES_thrum_tls
    [[maybe_unused]] thrum::tls_context const calls_openssl = thrum::tls_context::client();
#endif
#ifdef USES_thrum_debug
    thrum::debug::serve("127.0.0.1:0").stop();
#endif
    std::puts(thrum::spawn([] { return "found"; }).join());
  });
}

// Built by check.cmake against an installed thrum.
#include <thrum/thrum.h>
#ifdef USES_thrum_tls
#include <thrum/tls.h>
#endif

#include <cstdio>

int main() {
  return thrum::run([] {
#ifdef USES_thrum_tls
    [[maybe_unused]] thrum::tls_context const calls_openssl = thrum::tls_context::client();
#endif
    std::puts(thrum::spawn([] { return "found"; }).join());
  });
}

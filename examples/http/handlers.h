// The handlers of the server.
#pragma once

#include "routes.h"

namespace http {

response plaintext(request& asked, site const& of);   // "Hello, World!"
response echo(request& asked, site const& of);        // the body of the request
response slow(request& asked, site const& of);        // ?ms=N: answers after N milliseconds
response stats(request& asked, site const& of);       // thrum's statistics, one per line
response metrics(request& asked, site const& of);     // all of them, for Prometheus
response fail(request& asked, site const& of);        // throws
response serve_file(request& asked, site const& of);  // the files below --root (files.cpp)

}  // namespace http

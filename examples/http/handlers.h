// What the server serves.
#pragma once

#include "routes.h"

namespace http {

response plaintext(request& asked, site const& of);   // "Hello, World!"
response echo(request& asked, site const& of);        // the body that came
response slow(request& asked, site const& of);        // ?ms=N: after so long
response stats(request& asked, site const& of);       // of thrum, a line for each figure
response fail(request& asked, site const& of);        // throws
response serve_file(request& asked, site const& of);  // what is below --root (files.cpp)

}  // namespace http

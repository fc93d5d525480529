// Who may ask the live view. A page of another site, open in the browser of a user who can reach the server, must not
// read anything from it nor make it do anything.
//
//   Host     an address or "localhost", or a name that the program allows. A name that an attacker owns may lead to
//            this machine (DNS rebinding), and then the browser takes the answers for the attacker's own.
//   Origin   if there is one, the page that asks comes from this server. Browsers send it with every POST.
//   token    if the program has set one: "Authorization: Bearer TOKEN", or ?token=TOKEN, because an EventSource of a
//            browser cannot send fields.
#pragma once

#include "live/http_request.h"

#include <string>
#include <string_view>
#include <vector>

namespace thrum::live {

struct access_rules {
  std::string token = {};  // empty: none is needed
  std::vector<std::string> hosts = {};
};

struct refusal {
  int status = 0;  // 0: the request is allowed
  char const* why = nullptr;
  explicit operator bool() const noexcept { return status != 0; }
};
[[nodiscard]] refusal refuse(http_request const& asked, access_rules const& rules);

}  // namespace thrum::live

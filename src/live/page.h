// The page of the live view: web/dist/page.html, which is part of the library.
#pragma once

#include <string_view>

namespace thrum::live {

[[nodiscard]] std::string_view page() noexcept;
// The value of Content-Security-Policy for it: the browser runs its script and no other.
[[nodiscard]] std::string_view page_policy() noexcept;

}  // namespace thrum::live

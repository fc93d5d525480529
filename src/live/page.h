// The page of the live view: web/dist/page.html, which is part of the library.
#pragma once

#include <string_view>

namespace thrum::live {

[[nodiscard]] std::string_view page() noexcept;

}  // namespace thrum::live

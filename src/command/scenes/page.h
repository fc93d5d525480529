// The page that shows a recording. It is web/dist/page.html, which is part of the program.
#pragma once

#include <string>
#include <string_view>

namespace thrum::command {

// The page with the recording in its element <script type="application/json" id="recording">. Each "<" is written as
// \u003c, so no text of the recording ends the element. Throws std::logic_error if the page does not have exactly one
// such element.
[[nodiscard]] std::string page_with(std::string_view json);

// The same for another page.
[[nodiscard]] std::string put_into_page(std::string_view page, std::string_view json);

}  // namespace thrum::command

// Which places of a stack are the program's own.
#pragma once

#include "debug/debug_information.h"

#include <string>
#include <string_view>
#include <vector>

namespace thrum::rt {

// The name of a function as the demangler writes it begins with the type that the function returns, if it is an
// instance of a template.
[[nodiscard]] std::string_view without_return_type(std::string_view name) noexcept;

// Whether the place is in the runtime or in the standard library. These frames show how the goroutine came to be called
// and how it came to wait, and say nothing about the program. Go leaves them out as well.
[[nodiscard]] bool is_plumbing(code_place const& place) noexcept;

// The place in the program's own code: functions of thrum's headers and of the standard library's that were inlined
// there are passed over.
[[nodiscard]] code_place const& place_of_user(std::vector<code_place> const& places) noexcept;

// "file.cpp:12"; the file alone if the line is not known; empty if the file is not known.
[[nodiscard]] std::string source_of(code_place const& place);
// "function (file.cpp:12)", with the file's name alone; the function alone if the line is not known.
[[nodiscard]] std::string name_of_site(code_place const& place);

}  // namespace thrum::rt

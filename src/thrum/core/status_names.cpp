#include "core/status_names.h"

namespace thrum::rt {

char const* name_of(g_status status) noexcept { return text_of(status); }
char const* name_of(p_status status) noexcept { return text_of(status); }
char const* name_of(m_status status) noexcept { return text_of(status); }
char const* name_of(wait_reason reason) noexcept { return text_of(reason); }

}  // namespace thrum::rt

#include "live/page.h"

// THRUM_PAGE is the path of the file (CMakeLists.txt).
asm(".pushsection .rodata\n"
    ".hidden thrum_live_page\n.hidden thrum_live_page_end\n"
    ".globl thrum_live_page\n.globl thrum_live_page_end\n"
    "thrum_live_page:\n.incbin \"" THRUM_PAGE
    "\"\n"
    "thrum_live_page_end:\n.byte 0\n.popsection\n");
extern "C" char const thrum_live_page;
extern "C" char const thrum_live_page_end;

namespace thrum::live {

std::string_view page() noexcept { return {&thrum_live_page, &thrum_live_page_end}; }

// The page sets styles of elements, so its styles have no hash. THRUM_PAGE_SCRIPT is the hash of the script.
std::string_view page_policy() noexcept {
  return "default-src 'none'; script-src '" THRUM_PAGE_SCRIPT
         "'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'";
}

}  // namespace thrum::live

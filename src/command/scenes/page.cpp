#include "command/scenes/page.h"

#include <stdexcept>

// THRUM_PAGE is the path of the file (CMakeLists.txt).
asm(".pushsection .rodata\n"
    ".hidden thrum_page\n.hidden thrum_page_end\n"
    ".globl thrum_page\n.globl thrum_page_end\n"
    "thrum_page:\n.incbin \"" THRUM_PAGE
    "\"\n"
    "thrum_page_end:\n.byte 0\n.popsection\n");
extern "C" char const thrum_page;
extern "C" char const thrum_page_end;

namespace thrum::command {

std::string put_into_page(std::string_view page, std::string_view json) {
  constexpr std::string_view element = "<script type=\"application/json\" id=\"recording\">";
  std::size_t const at = page.find(element);
  bool const is_single = at != std::string_view::npos && page.find(element, at + 1) == std::string_view::npos;
  std::size_t const from = at + element.size();
  std::size_t const to = is_single ? page.find("</script>", from) : std::string_view::npos;
  if (to == std::string_view::npos) throw std::logic_error("the page has no single element for the recording");
  std::string made(page.substr(0, from));
  for (char const c : json) {
    if (c == '<') {
      made += "\\u003c";
    } else {
      made += c;
    }
  }
  return made += page.substr(to);
}

std::string page_with(std::string_view json) { return put_into_page({&thrum_page, &thrum_page_end}, json); }

}  // namespace thrum::command

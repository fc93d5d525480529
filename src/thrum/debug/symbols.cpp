#include "debug/symbols.h"

#include "debug/hexadecimal.h"
#include "os/thread.h"

#include <utility>

#include <dlfcn.h>

namespace thrum::rt {
namespace {

code_place place_by_loader(std::uintptr_t pc) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void const*>(pc), &info) == 0 || info.dli_fname == nullptr) {
    return {.function = hexadecimal(pc), .file = {}};
  }
  if (info.dli_sname == nullptr) {
    auto const begin = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    std::string where(info.dli_fname);  // no operator+ with a literal on its left: gcc 12 warns of it at -O3
    where += '+';
    where += hexadecimal(pc - begin);
    return {.function = std::move(where), .file = {}};
  }
  auto const begin = reinterpret_cast<std::uintptr_t>(info.dli_saddr);
  return {.function = demangled(info.dli_sname), .file = info.dli_fname, .offset = pc - begin};
}

}  // namespace

symbols::symbols(source best)
    : files_(best == source::debug_information ? debug_information::wanted::yes : debug_information::wanted::no) {}

std::vector<code_place> const& symbols::places_of(std::uintptr_t pc) {
  auto const found = known_.find(pc);
  if (found != known_.end()) return found->second;
  std::vector<code_place> places{place_by_loader(pc)};
  files_.refine(pc, places);
  return known_.emplace(pc, std::move(places)).first->second;
}

std::string symbols::lines_of(std::uintptr_t pc) {
  std::string text;
  for (code_place const& place : places_of(pc)) text += rt::lines_of(place);
  return text;
}

void with_symbols(void (*report)(symbols& known, void* argument) noexcept, void* argument) noexcept {
  struct call {
    decltype(report) function;
    void* argument;
    int tid;
  } whole{report, argument, 0};
  auto const body = [](void* out) -> void* {
    auto& its = *static_cast<call*>(out);
    its.tid = os::current_tid();
    symbols best;
    its.function(best, its.argument);
    return nullptr;
  };
  os::thread reader;
  if (os::create_thread(reader, body, &whole) == 0) {
    os::join_thread(reader, whole.tid);
  } else {
    symbols without_files(symbols::source::loader);
    report(without_files, argument);
  }
}

std::string lines_of(code_place const& place) {
  std::string text = place.function + '\n';
  if (place.file.empty()) return text;
  text += '\t' + place.file;
  if (place.line > 0) text += ':' + std::to_string(place.line);
  return text + " +" + hexadecimal(place.offset) + '\n';
}

}  // namespace thrum::rt

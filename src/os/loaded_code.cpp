#include "os/loaded_code.h"

#include "base/atomic.h"

#include <array>
#include <cstddef>
#include <cstring>

#include <link.h>

namespace thrum::rt::os {
namespace {

struct code_range {
  std::uintptr_t low;
  std::uintptr_t high;
  code_owner owner;
};

// A range is written before it is counted, and never changed afterwards: a signal handler may be reading. An object that is
// unloaded stays in the list; one that takes its place is added.
constexpr std::size_t ranges_max = 256;
constinit std::array<code_range, ranges_max> ranges{};
constinit atomic<std::size_t> range_count{0};

bool is_libc_kin(char const* path) noexcept {
  char const* const slash = std::strrchr(path, '/');
  char const* const name = slash != nullptr ? slash + 1 : path;
  for (char const* const prefix : {"libc.so", "libc-", "libc.musl", "ld-", "ld.so", "libstdc++", "libc++", "libgcc_s",
                                   "libunwind", "libpthread", "libdl", "libjemalloc", "libtcmalloc", "libmimalloc"}) {
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) return true;
  }
  return false;
}

void add(code_range found) noexcept {
  std::size_t const count = range_count.load(relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    if (ranges[i].low == found.low && ranges[i].high == found.high) return;
  }
  if (count == ranges_max) return;
  ranges[count] = found;
  range_count.store(count + 1, release);  // pairs with owner_of_code
}

int note_object(dl_phdr_info* object, std::size_t, void*) {
  char const* const path = object->dlpi_name != nullptr ? object->dlpi_name : "";
  code_owner const owner = is_libc_kin(path) ? code_owner::libc_kin : code_owner::program;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    auto const& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    std::uintptr_t const low = object->dlpi_addr + part.p_vaddr;
    add({low, low + part.p_memsz, owner});
  }
  return 0;
}

}  // namespace

void note_loaded_code() noexcept { static_cast<void>(::dl_iterate_phdr(note_object, nullptr)); }

code_owner owner_of_code(std::uintptr_t address) noexcept {
  std::size_t const count = range_count.load(acquire);  // pairs with add
  for (std::size_t i = 0; i < count; ++i) {
    if (address >= ranges[i].low && address < ranges[i].high) return ranges[i].owner;
  }
  return code_owner::nobody;
}

}  // namespace thrum::rt::os

#include "debug/loaded_modules.h"

#include "base/round_up.h"
#include "os/files.h"
#include "os/memory.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <elf.h>
#include <link.h>

namespace thrum::rt {
namespace {

// The build id in a segment of notes. Empty: there is none.
std::span<std::byte const> build_id_in(std::byte const* at, std::size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    std::size_t const name_bytes = round_up(note.n_namesz, 4);
    std::size_t const all = sizeof note + name_bytes + round_up(note.n_descsz, 4);
    if (all > size) break;
    std::byte const* const name = at + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      return {name + name_bytes, note.n_descsz};
    at += all;
    size -= all;
  }
  return {};
}

std::string path_of_executable() {
  char path[4096];
  int const fd = os::open_to_read("/proc/self/exe");
  long const length = fd < 0 ? 0 : os::path_of_descriptor(fd, path, sizeof path);
  if (fd >= 0) static_cast<void>(os::close_file(fd));
  return {path, static_cast<std::size_t>(std::max(length, 0L))};
}

void note_segment(ElfW(Phdr) const& segment, loaded_module& its) {
  std::uintptr_t const begin = its.bias + segment.p_vaddr;
  std::uintptr_t const end = begin + segment.p_memsz;
  if (segment.p_type == PT_LOAD) {
    its.low = std::min(its.low, begin);
    its.high = std::max(its.high, end);
    if ((segment.p_flags & PF_X) == 0) return;
    std::size_t const page = os::page_size();
    its.code.push_back({begin / page * page, round_up(end, page), segment.p_offset / page * page});
  } else if (segment.p_type == PT_NOTE && its.build_id.empty()) {
    auto const found = build_id_in(reinterpret_cast<std::byte const*>(begin), segment.p_memsz);
    its.build_id.assign(found.begin(), found.end());
  }
}

int note_module(dl_phdr_info* info, std::size_t, void* argument) {
  loaded_module its{.path = info->dlpi_name,
                    .build_id = {},
                    .bias = info->dlpi_addr,
                    .low = std::numeric_limits<std::uintptr_t>::max(),
                    .high = 0,
                    .code = {}};
  for (ElfW(Phdr) const& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) note_segment(segment, its);
  if (its.high <= its.low) return 0;
  if (its.path.empty()) its.path = path_of_executable();
  static_cast<std::vector<loaded_module>*>(argument)->push_back(std::move(its));
  return 0;
}

}  // namespace

std::vector<loaded_module> loaded_modules() {
  std::vector<loaded_module> all;
  dl_iterate_phdr(note_module, &all);
  return all;
}

}  // namespace thrum::rt

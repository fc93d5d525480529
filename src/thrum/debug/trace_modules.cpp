#include "debug/trace_modules.h"

#include "os/files.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <elf.h>
#include <link.h>

namespace thrum::rt::trace {
namespace {

using bytes = std::vector<std::byte>;

template <class T>
void append(bytes& to, T const& value) {
  auto const* const from = reinterpret_cast<std::byte const*>(&value);
  to.insert(to.end(), from, from + sizeof value);
}

void append(bytes& to, std::span<std::byte const> more) { to.insert(to.end(), more.begin(), more.end()); }

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

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

int note_module(dl_phdr_info* its, std::size_t, void* argument) {
  std::uintptr_t low = UINTPTR_MAX;
  std::uintptr_t high = 0;
  std::span<std::byte const> build_id;
  for (ElfW(Phdr) const& segment : std::span(its->dlpi_phdr, its->dlpi_phnum)) {
    std::uintptr_t const begin = its->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      low = std::min(low, begin);
      high = std::max(high, begin + segment.p_memsz);
    } else if (segment.p_type == PT_NOTE && build_id.empty()) {
      build_id = build_id_in(reinterpret_cast<std::byte const*>(begin), segment.p_memsz);
    }
  }
  if (high <= low) return 0;
  char self[4096];
  std::string_view path = its->dlpi_name;
  if (path.empty()) {  // the executable
    int const fd = os::open_to_read("/proc/self/exe");
    long const length = fd < 0 ? 0 : os::path_of_descriptor(fd, self, sizeof self);
    if (fd >= 0) static_cast<void>(os::close_file(fd));
    path = {self, static_cast<std::size_t>(std::max(length, 0L))};
  }
  auto& to = *static_cast<bytes*>(argument);
  append(to, std::uint64_t{low});
  append(to, std::uint64_t{high});
  append(to, std::uint64_t{its->dlpi_addr});
  append(to, static_cast<std::uint32_t>(build_id.size()));
  append(to, static_cast<std::uint32_t>(path.size()));
  append(to, build_id);
  append(to, std::as_bytes(std::span(path)));
  to.resize(round_up(to.size(), 8));
  return 0;
}

}  // namespace

std::vector<std::byte> contents_of_modules() {
  bytes made;
  dl_iterate_phdr(note_module, &made);
  return made;
}

}  // namespace thrum::rt::trace

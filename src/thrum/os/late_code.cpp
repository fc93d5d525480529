#include "os/late_code.h"

#include <algorithm>
#include <cstring>

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// The beginning of an object in memory, as linkers lay it out: the ELF header and the program headers. There are about
// ten program headers, and those for code come first.
constexpr int parts_max = 16;
struct beginning {
  ElfW(Ehdr) header;
  ElfW(Phdr) parts[parts_max];
};

enum class reading : unsigned char { done, gone, forbidden };

// Lets the kernel read, because it returns an error if the object has been unloaded.
reading read_beginning(std::uintptr_t from, beginning& out) noexcept {
  iovec const to{&out, sizeof out};
  iovec const at{reinterpret_cast<void*>(from), sizeof out};
  long const got = ::syscall(SYS_process_vm_readv, ::getpid(), &to, 1L, &at, 1L, 0L);
  if (got < 0 && errno != EFAULT) return reading::forbidden;
  return got == static_cast<long>(sizeof out) ? reading::done : reading::gone;
}

bool is_header(ElfW(Ehdr) const& read) noexcept {
  return std::memcmp(read.e_ident, ELFMAG, SELFMAG) == 0 && read.e_phoff == sizeof read &&
         read.e_phentsize == sizeof(ElfW(Phdr));
}

}  // namespace

#if THRUM_LOADER_CAN_BE_ASKED

bool find_object(std::uintptr_t address, loaded_object& found) noexcept {
  dl_find_object answer;
  if (::_dl_find_object(reinterpret_cast<void*>(address), &answer) != 0) return false;
  found.low = reinterpret_cast<std::uintptr_t>(answer.dlfo_map_start);
  found.high = reinterpret_cast<std::uintptr_t>(answer.dlfo_map_end);
  found.path = const_cast<char const* const*>(&answer.dlfo_link_map->l_name);
  return true;
}

#else

bool find_object(std::uintptr_t, loaded_object&) noexcept { return false; }

#endif

bool is_executable(loaded_object const& object, std::uintptr_t address) noexcept {
  beginning read;
  reading const how = read_beginning(object.low, read);
  if (how != reading::done) return how == reading::forbidden;
  // No ELF header is at the beginning of what the loader returned. It returns the parts of the executable separately,
  // so this may be one of them, but the executable is in the list of os/loaded_code.h.
  if (!is_header(read.header)) return false;
  ElfW(Phdr) const* first = nullptr;  // the segment with which the object begins
  for (int i = 0; i < std::min<int>(read.header.e_phnum, parts_max); ++i) {
    auto const& part = read.parts[i];
    if (part.p_type != PT_LOAD) continue;
    if (first == nullptr) first = &part;
    std::uintptr_t const low = object.low + (part.p_vaddr - first->p_vaddr);
    if ((part.p_flags & PF_X) != 0 && address >= low && address < low + part.p_memsz) return true;
  }
  return false;
}

}  // namespace thrum::rt::os

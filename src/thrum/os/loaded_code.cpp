#include "os/loaded_code.h"

#include "base/atomic.h"
#include "os/late_code.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <unwind.h>

namespace thrum::rt::os {
namespace {

struct code_range {
  std::uintptr_t low;
  std::uintptr_t high;
  code_owner owner;
};

// A range is written before it is counted and is never changed afterwards, because a signal handler may be reading it.
// An object that is unloaded stays in the list. An object that takes its place is added if the loader's list is read
// once more.
constexpr std::size_t ranges_max = 512;
constinit std::array<code_range, ranges_max> ranges{};
constinit atomic<std::size_t> range_count{0};
constinit bool malloc_was_found_in_the_program = false;  // determined when the list is made
constinit atomic<bool> malloc_is_in_the_program{false};
constinit atomic<bool> malloc_is_trusted{false};

// An object that contains one of these functions takes locks that the whole process needs. The executable may contain
// them too, but it always counts as the program.
void const* const entry_points[] = {reinterpret_cast<void const*>(&::malloc),
                                    reinterpret_cast<void const*>(&abi::__cxa_throw),
                                    reinterpret_cast<void const*>(&::_Unwind_RaiseException)};

bool begins_with(char const* text, char const* prefix) noexcept {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

bool has_such_a_name(char const* path) noexcept {
  char const* const slash = std::strrchr(path, '/');
  char const* const name = slash != nullptr ? slash + 1 : path;
  for (char const* const prefix :
       {"libc.so",      "libc-",     "libc.musl",  "ld-",     "ld.so",       "libstdc++",   "libc++",
        "libgcc_s",     "libunwind", "libpthread", "libdl",   "libjemalloc", "libtcmalloc", "libmimalloc",
        "libtbbmalloc", "libasan",   "libubsan",   "libtsan", "liblsan",     "libhwasan"}) {
    if (begins_with(name, prefix)) return true;
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
  range_count.store(count + 1, release);  // pairs with owner_in_list's acquire
}

template <class F>
void for_each_range_of_code(dl_phdr_info const& object, F visit) noexcept {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    auto const& part = object.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    std::uintptr_t const low = object.dlpi_addr + part.p_vaddr;
    visit(low, low + part.p_memsz);
  }
}

bool has_entry_point(std::uintptr_t low, std::uintptr_t high) noexcept {
  for (void const* const entry_point : entry_points) {
    auto const address = reinterpret_cast<std::uintptr_t>(entry_point);
    if (address >= low && address < high) return true;
  }
  return false;
}

code_owner owner_of(dl_phdr_info const& object) noexcept {
  char const* const path = object.dlpi_name != nullptr ? object.dlpi_name : "";
  if (*path == '\0') return code_owner::program;                   // the executable
  if (begins_with(path, "linux-vdso")) return code_owner::kernel;  // it is not a file, so its name has no directory
  bool is_kin = has_such_a_name(path);
  for_each_range_of_code(
      object, [&](std::uintptr_t low, std::uintptr_t high) { is_kin = is_kin || has_entry_point(low, high); });
  return is_kin ? code_owner::libc_kin : code_owner::program;
}

// Adds the ranges of objects with the wanted owner. note_loaded_code asks for the important owners first, because the
// list may become full.
int note_object(dl_phdr_info* object, std::size_t, void* wanted) {
  code_owner const owner = owner_of(*object);
  if (owner != *static_cast<code_owner const*>(wanted)) return 0;
  for_each_range_of_code(*object, [&](std::uintptr_t low, std::uintptr_t high) { add({low, high, owner}); });
  return 0;
}

code_owner owner_in_list(std::uintptr_t address) noexcept {
  std::size_t const count = range_count.load(acquire);  // pairs with add's release
  for (std::size_t i = 0; i < count; ++i) {
    if (address >= ranges[i].low && address < ranges[i].high) return ranges[i].owner;
  }
  return code_owner::none;
}

// In an executable that is linked at a fixed address, the address of a library's function may be that of a jump (PLT
// entry) in the executable. Such a symbol is undefined there.
bool is_in_the_program(void const* function) noexcept {
  auto const address = reinterpret_cast<std::uintptr_t>(function);
  Dl_info where{};
  ElfW(Sym) const* symbol = nullptr;
  if (owner_in_list(address) != code_owner::program) return false;
  if (::dladdr1(function, &where, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT) == 0) {
    return true;  // there are no dynamic symbols, so the program is linked statically
  }
  return symbol != nullptr && symbol->st_shndx != SHN_UNDEF;
}

}  // namespace

void note_loaded_code() noexcept {
  // If the loader can be asked about objects that are loaded later, the list is made only once per process. The reason
  // is that an earlier run may have stopped a goroutine for good in a callback of dl_iterate_phdr or in a constructor
  // of a library that it was loading. Such a goroutine never releases the loader's locks, and a second dl_iterate_phdr
  // would wait for them.
  if (!loader_can_be_asked || range_count.load(relaxed) == 0) {
    for (code_owner wanted : {code_owner::kernel, code_owner::libc_kin, code_owner::program}) {
      static_cast<void>(::dl_iterate_phdr(note_object, &wanted));
    }
    malloc_was_found_in_the_program = is_in_the_program(entry_points[0]);
    static_cast<void>(owner_of_code(0));  // makes the loader bind what it calls here and not in a signal handler
  }
  bool const own = malloc_was_found_in_the_program && !malloc_is_trusted.load(relaxed);
  malloc_is_in_the_program.store(own, relaxed);  // relaxed: stored before any goroutine runs
}

void trust_the_programs_malloc() noexcept { malloc_is_trusted.store(true, relaxed); }

bool libc_is_in_the_program() noexcept { return malloc_is_in_the_program.load(relaxed); }

std::uintptr_t load_bias_of_executable() noexcept {
  auto const at = static_cast<std::uintptr_t>(::getauxval(AT_PHDR));
  auto const* const headers = reinterpret_cast<ElfW(Phdr) const*>(at);
  for (std::size_t i = 0; headers != nullptr && i < ::getauxval(AT_PHNUM); ++i) {
    if (headers[i].p_type == PT_PHDR) return at - headers[i].p_vaddr;
  }
  return 0;
}

code_owner owner_of_code(std::uintptr_t address) noexcept {
  if (code_owner const listed = owner_in_list(address); listed != code_owner::none) return listed;
  loaded_object later;
  if (!find_object(address, later)) return code_owner::none;
  bool const is_kin = has_such_a_name(*later.path) || has_entry_point(later.low, later.high);
  return is_kin ? code_owner::libc_kin : code_owner::program;
}

bool is_code(std::uintptr_t word) noexcept {
  loaded_object later;
  return owner_in_list(word) != code_owner::none || (find_object(word, later) && is_executable(later, word));
}

bool is_code_of_the_program(std::uintptr_t word) noexcept {
  if (code_owner const listed = owner_in_list(word); listed != code_owner::none) return listed == code_owner::program;
  loaded_object later;
  return find_object(word, later) && !has_entry_point(later.low, later.high) && is_executable(later, word);
}

}  // namespace thrum::rt::os

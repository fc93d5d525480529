#include "debug/debug_information.h"

#include "debug/libdw.h"
#include "os/shared_library.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include <cxxabi.h>

namespace thrum::rt {

std::string demangled(char const* name) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> const text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return text != nullptr ? text.get() : name;
}

namespace {

Dwfl* open_loaded_objects() {
  libdw const& dw = libdw::loaded();
  if (!dw.is_complete) return nullptr;
  static Dwfl_Callbacks const callbacks{
      .find_elf = dw.dwfl_linux_proc_find_elf,
      .find_debuginfo = dw.dwfl_build_id_find_debuginfo,  // not the standard one, which would ask a server
      .section_address = nullptr,
      .debuginfo_path = nullptr,
  };
  struct closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, closer> const maps(std::fopen("/proc/self/maps", "re"));
  if (maps == nullptr) return nullptr;
  Dwfl* const reader = dw.dwfl_begin(&callbacks);
  if (reader == nullptr) return nullptr;
  if (dw.dwfl_linux_proc_maps_report(reader, maps.get()) == 0 && dw.dwfl_report_end(reader, nullptr, nullptr) == 0) {
    return reader;
  }
  dw.dwfl_end(reader);
  return nullptr;
}

// A compilation unit, and an address relative to the base that its DWARF uses.
struct unit {
  Dwarf_Die* die = nullptr;
  Dwarf_Addr address = 0;
};

unit unit_of(Dwfl_Module* module, Dwarf_Addr pc) {
  libdw const& dw = libdw::loaded();
  Dwarf_Addr bias = 0;
  Dwarf_Die* die = dw.dwfl_module_addrdie(module, pc, &bias);
  if (die != nullptr && dw.dwarf_haspc(die, pc - bias) > 0) return {die, pc - bias};
  // clang writes no index. Then the answer is another unit, one that has an index, so each unit is asked.
  die = nullptr;
  while ((die = dw.dwfl_module_nextcu(module, die, &bias)) != nullptr) {
    if (dw.dwarf_haspc(die, pc - bias) > 0) return {die, pc - bias};
  }
  return {};
}

struct source_line {
  char const* file = nullptr;
  int line = 0;
};

source_line line_of(unit const& in) {
  libdw const& dw = libdw::loaded();
  Dwarf_Line* const entry = dw.dwarf_getsrc_die(in.die, in.address);
  if (entry == nullptr) return {};
  source_line result{dw.dwarf_linesrc(entry, nullptr, nullptr), 0};
  dw.dwarf_lineno(entry, &result.line);
  return result;
}

// The place where an inlined function was called.
source_line caller_of(unit const& in, Dwarf_Die* inlined) {
  libdw const& dw = libdw::loaded();
  auto const number = [&](unsigned name) -> Dwarf_Word {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return dw.dwarf_formudata(dw.dwarf_attr_integrate(inlined, name, &attribute), &value) == 0 ? value : 0;
  };
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  Dwarf_Word const file = number(DW_AT_call_file);
  if (dw.dwarf_getsrcfiles(in.die, &files, &count) != 0 || file >= count) return {};
  return {dw.dwarf_filesrc(files, file, nullptr, nullptr), static_cast<int>(number(DW_AT_call_line))};
}

std::string name_of(Dwarf_Die* function) {
  libdw const& dw = libdw::loaded();
  Dwarf_Attribute attribute;
  for (unsigned const name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    char const* const text = dw.dwarf_formstring(dw.dwarf_attr_integrate(function, name, &attribute));
    if (text != nullptr) return demangled(text);
  }
  char const* const text = dw.dwarf_diename(function);
  return text != nullptr ? text + std::string("(...)") : std::string("?");
}

template <class Visit>
bool any_child(Dwarf_Die* of, Visit visit) {
  libdw const& dw = libdw::loaded();
  Dwarf_Die child;
  for (int end = dw.dwarf_child(of, &child); end == 0; end = dw.dwarf_siblingof(&child, &child)) {
    if (visit(&child, dw.dwarf_tag(&child))) return true;
  }
  return false;
}

enum class functions_in_functions : bool { no, yes };

// Finds the function that the address belongs to. dwarf_getscopes would not find the function of a lambda in a
// template, because its scope is the template, which has no code.
bool find_function(Dwarf_Die* scope, Dwarf_Addr address, functions_in_functions also, Dwarf_Die& found) {
  return any_child(scope, [&](Dwarf_Die* child, int tag) {
    switch (tag) {
      case DW_TAG_subprogram:
        if (libdw::loaded().dwarf_haspc(child, address) > 0) {
          found = *child;
          return true;
        }
        [[fallthrough]];
      case DW_TAG_lexical_block:
        return also == functions_in_functions::yes && find_function(child, address, also, found);
      case DW_TAG_namespace:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type: return find_function(child, address, also, found);
      default: return false;
    }
  });
}

// The calls that were inlined at the address, outermost first.
void add_inlined(Dwarf_Die* scope, Dwarf_Addr address, std::vector<Dwarf_Die>& calls) {
  any_child(scope, [&](Dwarf_Die* child, int tag) {
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) return false;
    if (libdw::loaded().dwarf_haspc(child, address) <= 0) return false;
    if (tag == DW_TAG_inlined_subroutine) calls.push_back(*child);
    add_inlined(child, address, calls);
    return true;
  });
}

std::vector<Dwarf_Die> inlined_calls(unit const& in) {
  std::vector<Dwarf_Die> calls;
  Dwarf_Die function;
  if (find_function(in.die, in.address, functions_in_functions::no, function) ||
      find_function(in.die, in.address, functions_in_functions::yes, function)) {
    add_inlined(&function, in.address, calls);
  }
  return calls;
}

void set_source(code_place& place, unit const& in, source_line const& source) {
  if (source.file == nullptr) return;
  place.file = source.file;
  place.line = source.line;
  if (source.file[0] == '/') return;
  Dwarf_Attribute attribute;
  libdw const& dw = libdw::loaded();
  char const* const base = dw.dwarf_formstring(dw.dwarf_attr_integrate(in.die, DW_AT_comp_dir, &attribute));
  if (base != nullptr) place.file = base + ('/' + place.file);
}

}  // namespace

debug_information::debug_information(wanted is_wanted)
    : is_wanted_(is_wanted == wanted::yes), reader_(is_wanted_ ? open_loaded_objects() : nullptr) {}

debug_information::~debug_information() {
  if (reader_ != nullptr) libdw::loaded().dwfl_end(reader_);
}

void debug_information::refine(std::uintptr_t pc, std::vector<code_place>& places) const {
  if (reader_ == nullptr) return;
  libdw const& dw = libdw::loaded();
  Dwfl_Module* const module = dw.dwfl_addrmodule(reader_, pc);
  if (module == nullptr) return;

  code_place function = std::move(places.back());
  places.pop_back();
  Elf64_Off offset = 0;
  Elf64_Sym symbol;
  char const* const name = dw.dwfl_module_addrinfo(module, pc, &offset, &symbol, nullptr, nullptr, nullptr);
  if (name != nullptr) {
    function.function = demangled(name);
    function.offset = offset;
    if (function.file.empty()) {
      function.file = dw.dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    }
  }
  unit const in = unit_of(module, pc);
  if (in.die != nullptr) {
    source_line at = line_of(in);
    auto calls = inlined_calls(in);
    for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
      set_source(places.emplace_back(code_place{name_of(&*call), function.file, 0, function.offset}), in, at);
      at = caller_of(in, &*call);
    }
    set_source(function, in, at);
  }
  places.push_back(std::move(function));
}

char const* debug_information::why_not() const noexcept {
  if (!is_wanted_ || is_there()) return nullptr;
  if (os::program_is_static()) {
    return "thrum: a statically linked program has no names and lines in its reports. "
           "addr2line -Cfipe PROGRAM ADDRESS finds them.\n";
  }
  if (!libdw::loaded().is_complete) {
    return "thrum: names and lines are missing above, because elfutils' libdw.so.1 is not installed here.\n"
           "       Debian, Ubuntu, openSUSE: the package libdw1. Fedora, RHEL: elfutils-libs. Arch: libelf. "
           "Alpine: elfutils.\n";
  }
  return "thrum: names and lines are missing above, because /proc/self/maps could not be read.\n";
}

}  // namespace thrum::rt

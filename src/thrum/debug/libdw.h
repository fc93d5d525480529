// elfutils' libdw as a set of function pointers. It is loaded when it is first needed, and never linked.
//
// The parts that thrum uses are declared here, so libdw's headers need not be there when thrum is built. libdw.so.1
// keeps them compatible: its symbols are versioned, and structures that callers create do not change.
#pragma once

#include "os/shared_library.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>

#include <dlfcn.h>
#include <elf.h>
#include <sys/types.h>

struct Dwfl;

namespace thrum::rt {

// NOLINTBEGIN(readability-identifier-naming): the names are elfutils'
// --- as in <elfutils/libdw.h> and <elfutils/libdwfl.h> ---

struct Dwarf_Abbrev;
struct Dwarf_CU;
struct Dwarf_Files;
struct Dwarf_Line;
struct Dwfl_Frame;
struct Dwfl_Module;
struct Dwfl_Thread;
struct Elf;

using Dwarf_Addr = Elf64_Addr;
using Dwarf_Word = Elf64_Xword;

struct Dwarf_Attribute {
  unsigned int code;
  unsigned int form;
  unsigned char* valp;
  Dwarf_CU* cu;
};

struct Dwarf_Die {
  void* addr;
  Dwarf_CU* cu;
  Dwarf_Abbrev* abbrev;
  long padding;
};

struct Dwfl_Callbacks {
  int (*find_elf)(Dwfl_Module*, void** userdata, char const* name, Dwarf_Addr base, char** file_name, Elf**);
  int (*find_debuginfo)(Dwfl_Module*, void** userdata, char const* name, Dwarf_Addr base, char const* file_name,
                        char const* link_file, Elf64_Word link_crc, char** debuginfo_file_name);
  int (*section_address)(Dwfl_Module*, void** userdata, char const* name, Dwarf_Addr base, char const* section,
                         Elf64_Word index, Elf64_Shdr const*, Dwarf_Addr*);
  char** debuginfo_path;
};

struct Dwfl_Thread_Callbacks {
  pid_t (*next_thread)(Dwfl*, void*, void** thread);
  bool (*get_thread)(Dwfl*, pid_t, void*, void** thread);
  bool (*memory_read)(Dwfl*, Dwarf_Addr, Dwarf_Word* result, void*);
  bool (*set_initial_registers)(Dwfl_Thread*, void*);
  void (*detach)(Dwfl*, void*);
  void (*thread_detach)(Dwfl_Thread*, void*);
};

enum dwarf_callback_result : std::uint8_t { DWARF_CB_OK = 0, DWARF_CB_ABORT = 1 };

// --- as in <dwarf.h>, and in the DWARF standard ---

enum dwarf_tag_name : std::uint16_t {
  DW_TAG_class_type = 0x02,
  DW_TAG_lexical_block = 0x0b,
  DW_TAG_structure_type = 0x13,
  DW_TAG_union_type = 0x17,
  DW_TAG_inlined_subroutine = 0x1d,
  DW_TAG_subprogram = 0x2e,
  DW_TAG_namespace = 0x39,
};
enum dwarf_attribute : std::uint16_t {
  DW_AT_comp_dir = 0x1b,
  DW_AT_call_file = 0x58,
  DW_AT_call_line = 0x59,
  DW_AT_linkage_name = 0x6e,
  DW_AT_MIPS_linkage_name = 0x2007,
};

// NOLINTEND(readability-identifier-naming)

// --- the functions ---

// clang-format off
#define THRUM_LIBDW_FUNCTIONS(each)                                                                             \
  each(dwfl_begin, Dwfl*(Dwfl_Callbacks const*))                                                                \
  each(dwfl_end, void(Dwfl*))                                                                                   \
  each(dwfl_report_end, int(Dwfl*, int (*)(Dwfl_Module*, void*, char const*, Dwarf_Addr, void*), void*))        \
  each(dwfl_linux_proc_maps_report, int(Dwfl*, std::FILE*))                                                     \
  each(dwfl_linux_proc_find_elf, int(Dwfl_Module*, void**, char const*, Dwarf_Addr, char**, Elf**))             \
  each(dwfl_build_id_find_debuginfo, int(Dwfl_Module*, void**, char const*, Dwarf_Addr, char const*,            \
                                         char const*, Elf64_Word, char**))                                      \
  each(dwfl_addrmodule, Dwfl_Module*(Dwfl*, Dwarf_Addr))                                                        \
  each(dwfl_module_info, char const*(Dwfl_Module*, void***, Dwarf_Addr*, Dwarf_Addr*, Dwarf_Addr*, Dwarf_Addr*, \
                                     char const**, char const**))                                               \
  each(dwfl_module_addrinfo, char const*(Dwfl_Module*, Elf64_Addr, Elf64_Off*, Elf64_Sym*, Elf64_Word*, Elf**,  \
                                         Dwarf_Addr*))                                                          \
  each(dwfl_module_addrdie, Dwarf_Die*(Dwfl_Module*, Dwarf_Addr, Dwarf_Addr*))                                  \
  each(dwfl_module_nextcu, Dwarf_Die*(Dwfl_Module*, Dwarf_Die*, Dwarf_Addr*))                                   \
  each(dwfl_pid, pid_t(Dwfl*))                                                                                  \
  each(dwfl_attach_state, bool(Dwfl*, Elf*, pid_t, Dwfl_Thread_Callbacks const*, void*))                        \
  each(dwfl_getthread_frames, int(Dwfl*, pid_t, int (*)(Dwfl_Frame*, void*), void*))                            \
  each(dwfl_frame_pc, bool(Dwfl_Frame*, Dwarf_Addr*, bool*))                                                    \
  each(dwfl_thread_state_registers, bool(Dwfl_Thread*, int, unsigned, Dwarf_Word const*))                       \
  each(dwfl_thread_state_register_pc, void(Dwfl_Thread*, Dwarf_Word))                                           \
  each(dwarf_child, int(Dwarf_Die*, Dwarf_Die*))                                                                \
  each(dwarf_siblingof, int(Dwarf_Die*, Dwarf_Die*))                                                            \
  each(dwarf_haspc, int(Dwarf_Die*, Dwarf_Addr))                                                                \
  each(dwarf_tag, int(Dwarf_Die*))                                                                              \
  each(dwarf_diename, char const*(Dwarf_Die*))                                                                  \
  each(dwarf_attr_integrate, Dwarf_Attribute*(Dwarf_Die*, unsigned, Dwarf_Attribute*))                          \
  each(dwarf_formstring, char const*(Dwarf_Attribute*))                                                         \
  each(dwarf_formudata, int(Dwarf_Attribute*, Dwarf_Word*))                                                     \
  each(dwarf_getsrc_die, Dwarf_Line*(Dwarf_Die*, Dwarf_Addr))                                                   \
  each(dwarf_linesrc, char const*(Dwarf_Line*, Dwarf_Word*, Dwarf_Word*))                                       \
  each(dwarf_lineno, int(Dwarf_Line*, int*))                                                                    \
  each(dwarf_getsrcfiles, int(Dwarf_Die*, Dwarf_Files**, std::size_t*))                                         \
  each(dwarf_filesrc, char const*(Dwarf_Files*, std::size_t, Dwarf_Word*, Dwarf_Word*))
// clang-format on

// The functions under their own names.
struct libdw {
#define THRUM_DECLARE(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  THRUM_LIBDW_FUNCTIONS(THRUM_DECLARE)
#undef THRUM_DECLARE
  bool is_complete = false;

  static libdw const& loaded() {
    static libdw const once;
    return once;
  }

 private:
  libdw() noexcept {
    void* const handle = os::load_library("libdw.so.1");
    if (handle == nullptr) return;
    is_complete = true;
#define THRUM_LOOK_UP(name, ...)                                   \
  name = reinterpret_cast<decltype(name)>(::dlsym(handle, #name)); \
  is_complete = is_complete && name != nullptr;
    THRUM_LIBDW_FUNCTIONS(THRUM_LOOK_UP)
#undef THRUM_LOOK_UP
  }
};

}  // namespace thrum::rt

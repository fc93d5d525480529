// elfutils' libdw as a set of function pointers: it is loaded when it is first needed, and never linked.
#pragma once

#include <dlfcn.h>
#include <elfutils/libdwfl.h>

namespace thrum::rt {

// clang-format off
#define THRUM_LIBDW_FUNCTIONS(each)                                                           \
  each(dwfl_begin) each(dwfl_end) each(dwfl_report_end) each(dwfl_linux_proc_maps_report)     \
  each(dwfl_linux_proc_find_elf) each(dwfl_build_id_find_debuginfo)                           \
  each(dwfl_addrmodule) each(dwfl_module_info) each(dwfl_module_addrinfo)                     \
  each(dwfl_module_addrdie) each(dwfl_module_nextcu)                                          \
  each(dwfl_pid) each(dwfl_attach_state) each(dwfl_getthread_frames) each(dwfl_frame_pc)      \
  each(dwfl_thread_state_registers) each(dwfl_thread_state_register_pc)                       \
  each(dwarf_child) each(dwarf_siblingof) each(dwarf_haspc) each(dwarf_tag) each(dwarf_diename) \
  each(dwarf_attr_integrate) each(dwarf_formstring) each(dwarf_formudata)                     \
  each(dwarf_getsrc_die) each(dwarf_linesrc) each(dwarf_lineno) each(dwarf_getsrcfiles) each(dwarf_filesrc)
// clang-format on

// The functions that we use, under their own names.
struct libdw {
#define THRUM_DECLARE(name) decltype(&::name) name = nullptr;
  THRUM_LIBDW_FUNCTIONS(THRUM_DECLARE)
#undef THRUM_DECLARE
  bool is_complete = false;

  static libdw const& loaded() {
    static libdw const once;
    return once;
  }

 private:
  libdw() noexcept {
    void* const handle = ::dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);  // stays loaded
    if (handle == nullptr) return;
    is_complete = true;
#define THRUM_LOOK_UP(name)                                        \
  name = reinterpret_cast<decltype(name)>(::dlsym(handle, #name)); \
  is_complete = is_complete && name != nullptr;
    THRUM_LIBDW_FUNCTIONS(THRUM_LOOK_UP)
#undef THRUM_LOOK_UP
  }
};

}  // namespace thrum::rt

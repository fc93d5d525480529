// The declarations of third-party functions in debug/libdw.h and net/cares.h match the libraries' own headers, if these
// are installed.
#include "debug/libdw.h"

#include "net/cares.h"

#include <cstddef>
#include <iterator>
#include <type_traits>

#include <gtest/gtest.h>

namespace ours = thrum::rt;

#if __has_include(<elfutils/libdwfl.h>) && __has_include(<dwarf.h>)
#include <dwarf.h>
#include <elfutils/libdwfl.h>

TEST(declared_of_libdw, structures_have_the_layout_of_its_headers) {
  EXPECT_EQ(sizeof(ours::Dwarf_Attribute), sizeof(::Dwarf_Attribute));
  EXPECT_EQ(sizeof(ours::Dwarf_Die), sizeof(::Dwarf_Die));
  EXPECT_EQ(sizeof(ours::Dwfl_Callbacks), sizeof(::Dwfl_Callbacks));
  EXPECT_EQ(offsetof(ours::Dwfl_Callbacks, find_debuginfo), offsetof(::Dwfl_Callbacks, find_debuginfo));
  EXPECT_EQ(sizeof(ours::Dwfl_Thread_Callbacks), sizeof(::Dwfl_Thread_Callbacks));
  EXPECT_EQ(offsetof(ours::Dwfl_Thread_Callbacks, memory_read), offsetof(::Dwfl_Thread_Callbacks, memory_read));
  EXPECT_EQ(offsetof(ours::Dwfl_Thread_Callbacks, set_initial_registers),
            offsetof(::Dwfl_Thread_Callbacks, set_initial_registers));
  EXPECT_EQ(offsetof(ours::Dwfl_Thread_Callbacks, detach), offsetof(::Dwfl_Thread_Callbacks, detach));
  EXPECT_EQ(sizeof(ours::Dwarf_Addr), sizeof(::Dwarf_Addr));
  EXPECT_EQ(sizeof(ours::Dwarf_Word), sizeof(::Dwarf_Word));
}

TEST(declared_of_libdw, constants_have_the_values_of_its_headers) {
#define THRUM_EXPECT_SAME(name) EXPECT_EQ(static_cast<int>(ours::name), static_cast<int>(::name))
  THRUM_EXPECT_SAME(DWARF_CB_OK);
  THRUM_EXPECT_SAME(DWARF_CB_ABORT);
  THRUM_EXPECT_SAME(DW_TAG_class_type);
  THRUM_EXPECT_SAME(DW_TAG_lexical_block);
  THRUM_EXPECT_SAME(DW_TAG_structure_type);
  THRUM_EXPECT_SAME(DW_TAG_union_type);
  THRUM_EXPECT_SAME(DW_TAG_inlined_subroutine);
  THRUM_EXPECT_SAME(DW_TAG_subprogram);
  THRUM_EXPECT_SAME(DW_TAG_namespace);
  THRUM_EXPECT_SAME(DW_AT_comp_dir);
  THRUM_EXPECT_SAME(DW_AT_call_file);
  THRUM_EXPECT_SAME(DW_AT_call_line);
  THRUM_EXPECT_SAME(DW_AT_linkage_name);
  THRUM_EXPECT_SAME(DW_AT_MIPS_linkage_name);
#undef THRUM_EXPECT_SAME
}

// Parameters and results: pointers to structures of either name are one.
template <class T>
struct plain {
  using type = T;
};
template <class T>
struct plain<T*> {
  using type = void*;
};
template <class R, class... A>
struct plain<R (*)(A...)> {
  using type = typename plain<R>::type(typename plain<A>::type...);
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wignored-attributes"  // the library's arguments are marked as nonnull, thrum's are not
#endif
TEST(declared_of_libdw, functions_have_the_signatures_of_its_headers) {
#define THRUM_EXPECT_SAME(name, ...)                                                                            \
  {                                                                                                             \
    bool const same = std::is_same_v<plain<decltype(ours::libdw::name)>::type, plain<decltype(&::name)>::type>; \
    EXPECT_TRUE(same) << #name;                                                                                 \
  }
  THRUM_LIBDW_FUNCTIONS(THRUM_EXPECT_SAME)
#undef THRUM_EXPECT_SAME
}
#endif

#if __has_include(<ares.h>)
// The macros of the library's header would replace thrum's names from here on, so the values to compare are taken
// before.
namespace declared {
constexpr int statuses[] = {ours::ARES_SUCCESS,  ours::ARES_ENODATA,  ours::ARES_ESERVFAIL,    ours::ARES_ENOTFOUND,
                            ours::ARES_EREFUSED, ours::ARES_EBADNAME, ours::ARES_ECONNREFUSED, ours::ARES_ETIMEOUT,
                            ours::ARES_ENOMEM,   ours::ARES_ENONAME,  ours::ARES_ECANCELLED};
constexpr int options[] = {ours::ARES_OPT_TRIES, ours::ARES_OPT_SOCK_STATE_CB, ours::ARES_OPT_TIMEOUTMS};
constexpr int others[] = {ours::ARES_SOCKET_BAD, ours::ARES_LIB_INIT_ALL};
}  // namespace declared

#include <ares.h>

TEST(declared_of_cares, constants_have_the_values_of_its_header) {
  int const statuses[] = {ARES_SUCCESS,  ARES_ENODATA,  ARES_ESERVFAIL,    ARES_ENOTFOUND,
                          ARES_EREFUSED, ARES_EBADNAME, ARES_ECONNREFUSED, ARES_ETIMEOUT,
                          ARES_ENOMEM,   ARES_ENONAME,  ARES_ECANCELLED};
  int const options[] = {ARES_OPT_TRIES, ARES_OPT_SOCK_STATE_CB, ARES_OPT_TIMEOUTMS};
  int const others[] = {ARES_SOCKET_BAD, ARES_LIB_INIT_ALL};
  for (std::size_t i = 0; i < std::size(statuses); ++i) EXPECT_EQ(declared::statuses[i], statuses[i]);
  for (std::size_t i = 0; i < std::size(options); ++i) EXPECT_EQ(declared::options[i], options[i]);
  for (std::size_t i = 0; i < std::size(others); ++i) EXPECT_EQ(declared::others[i], others[i]);
}

TEST(declared_of_cares, structures_have_the_layout_of_its_header) {
  EXPECT_GE(sizeof(ours::ares_options), sizeof(::ares_options)) << "it may read what we have not set";
#define THRUM_EXPECT_SAME(structure, member) EXPECT_EQ(offsetof(ours::structure, member), offsetof(::structure, member))
  THRUM_EXPECT_SAME(ares_options, timeout);
  THRUM_EXPECT_SAME(ares_options, tries);
  THRUM_EXPECT_SAME(ares_options, sock_state_cb);
  THRUM_EXPECT_SAME(ares_options, sock_state_cb_data);
  THRUM_EXPECT_SAME(ares_addrinfo, nodes);
  THRUM_EXPECT_SAME(ares_addrinfo_hints, ai_family);
  THRUM_EXPECT_SAME(ares_addrinfo_hints, ai_socktype);
  THRUM_EXPECT_SAME(ares_addrinfo_node, ai_addrlen);
  THRUM_EXPECT_SAME(ares_addrinfo_node, ai_addr);
  THRUM_EXPECT_SAME(ares_addrinfo_node, ai_next);
  EXPECT_EQ(sizeof(ours::ares_addrinfo_hints), sizeof(::ares_addrinfo_hints));
#undef THRUM_EXPECT_SAME
}
#endif

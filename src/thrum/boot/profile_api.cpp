// The functions of <thrum/profile.h>.
#include "core/current.h"
#include "core/forked.h"
#include "debug/dump.h"
#include "debug/goroutine_profile.h"
#include "debug/symbols.h"
#include "debug/whole_file.h"
#include "net/address.h"
#include "sched/world.h"
#include <thrum/blocking.h>
#include <thrum/profile.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace thrum::profile {
namespace {

using rt::M;

M& callers_m(char const* caller) {
  M* const m = rt::callers_m();
  if (m == nullptr) throw std::logic_error(std::string(caller) + " needs a runtime, but " + rt::why_no_runtime());
  return *m;
}

// Blocks the thread.
void write_file(std::string const& path, std::string const& profile) {
  if (rt::has_nul(path)) {
    throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                            "thrum::profile: the name of the file contains a NUL character");
  }
  auto const [error, call] = rt::write_whole_file(path, profile);
  if (error != 0)
    throw std::system_error(error, std::generic_category(), std::string("thrum::profile: ") + call + " " + path);
}

// Calls make(symbols) on a thread that has the stack for it.
template <class Make>
std::string with_symbols(Make make) {
  struct call {
    Make& make;
    std::string made;
    std::exception_ptr error;
  } its{make, {}, nullptr};
  auto const body = [](rt::symbols& known, void* argument) noexcept {
    auto& to = *static_cast<call*>(argument);
    try {
      to.made = to.make(known);
    } catch (...) {
      to.error = std::current_exception();
    }
  };
  blocking([&] { rt::with_symbols(body, &its); }, blocking_hint::long_call);
  if (its.error) std::rethrow_exception(its.error);
  return std::move(its.made);
}

void write(std::string const& path, std::string const& profile) {
  blocking([&] { write_file(path, profile); }, blocking_hint::long_call);
}

}  // namespace

std::string goroutines() {
  struct {
    M& m;
    rt::goroutine_list all;
  } noted{callers_m("thrum::profile::goroutines"), {}};
  auto const note = [](void* argument) noexcept {
    auto& its = *static_cast<decltype(noted)*>(argument);
    its.all.note(its.m.sched, rt::goroutine_list::frames::noted);
  };
  rt::enter_runtime(noted.m);
  {
    rt::stopped_world const world(noted.m);
    rt::call_with_context(noted.m.current->saved, note, &noted);  // the caller is in its own profile
  }
  rt::leave_runtime(noted.m);
  return with_symbols([&](rt::symbols& known) { return rt::profile_of_goroutines(noted.all, known); });
}

void write_goroutines(std::string const& path) { write(path, goroutines()); }

}  // namespace thrum::profile

// The functions of <thrum/profile.h>.
#include "boot/profile_of_run.h"
#include "core/current.h"
#include "core/forked.h"
#include "debug/cpu_profile.h"
#include "debug/dump.h"
#include "debug/goroutine_profile.h"
#include "debug/symbols.h"
#include "debug/waits_profile.h"
#include "debug/whole_file.h"
#include "net/address.h"
#include "sched/world.h"
#include <thrum/blocking.h>
#include <thrum/profile.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
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

namespace {

// Calls f(cpu_profile&) as a blocking call. The memory of the run stays meanwhile, also if the caller is a foreign
// thread.
template <class F>
auto with_cpu_profile(char const* caller, F f) {
  M& m = callers_m(caller);
  rt::enter_runtime(m);
  rt::kept_run const until_the_end(m);
  rt::cpu_profile& its = *rt::profile_of_run::of_live_run();
  rt::leave_runtime(m);
  return blocking([&] { return f(its); }, blocking_hint::long_call);
}

std::optional<std::string> stopped_cpu() {
  if (rt::callers_m() == nullptr) return std::nullopt;
  rt::cpu_samples taken;
  if (!with_cpu_profile("thrum::profile::stop_cpu", [&](rt::cpu_profile& its) { return its.stop(taken); }))
    return std::nullopt;
  return with_symbols([&](rt::symbols& known) { return rt::profile_of_cpu(taken, known); });
}

}  // namespace

void start_cpu(cpu_options const& chosen) {
  using rt::cpu_profile;
  if (chosen.per_second < 1 || chosen.per_second > cpu_profile::per_second_max)
    throw std::invalid_argument("thrum::profile::start_cpu: per_second = " + std::to_string(chosen.per_second) +
                                " must be in the range 1.." + std::to_string(cpu_profile::per_second_max));
  auto const result =
      with_cpu_profile("thrum::profile::start_cpu", [&](cpu_profile& its) { return its.start(chosen.per_second); });
  if (result.how == cpu_profile::outcome::already_on)
    throw std::logic_error("thrum::profile::start_cpu: a CPU profile is being taken already; stop_cpu() ends it");
  if (result.how == cpu_profile::outcome::failed)
    throw std::system_error(result.error, std::generic_category(),
                            std::string("thrum::profile::start_cpu: ") + result.call);
}

std::string stop_cpu() { return stopped_cpu().value_or(std::string()); }

bool stop_cpu(std::string const& path) {
  auto const profile = stopped_cpu();
  if (profile) write(path, *profile);
  return profile.has_value();
}

namespace {

std::uint64_t change_rate(rt::wait_kind which, std::uint64_t rate) {
  rt::wait_profile& its = which == rt::wait_kind::blocked ? rt::blocked_waits : rt::contended_waits;
  if (rate != 0 && !its.make_room()) throw std::bad_alloc();
  return rt::set_rate(which, rate);
}

std::string waits(rt::wait_profile& its) {
  return with_symbols([&](rt::symbols& known) { return rt::profile_of_waits(rt::places_of_waits(its), known); });
}

}  // namespace

std::chrono::nanoseconds set_block_rate(std::chrono::nanoseconds waiting_per_sample) {
  if (waiting_per_sample.count() < 0) throw std::invalid_argument("thrum::profile::set_block_rate: a negative time");
  auto const rate = static_cast<std::uint64_t>(waiting_per_sample.count());
  return std::chrono::nanoseconds(static_cast<std::int64_t>(change_rate(rt::wait_kind::blocked, rate)));
}

std::string blocks() { return waits(rt::blocked_waits); }

void write_blocks(std::string const& path) { write(path, blocks()); }

int set_mutex_rate(int one_in) {
  if (one_in < 0) throw std::invalid_argument("thrum::profile::set_mutex_rate: a negative number");
  return static_cast<int>(change_rate(rt::wait_kind::contended, static_cast<std::uint64_t>(one_in)));
}

std::string mutexes() { return waits(rt::contended_waits); }

void write_mutexes(std::string const& path) { write(path, mutexes()); }

}  // namespace thrum::profile

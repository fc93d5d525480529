#include "boot/profile_requests.h"

#include "base/atomic.h"
#include "boot/profile_of_run.h"
#include "debug/cpu_profile.h"
#include "debug/dump.h"
#include "debug/goroutine_profile.h"
#include "debug/symbols.h"
#include "debug/waits_profile.h"
#include "os/clock.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace thrum::rt {
namespace {

using debug::answer;
using debug::error;
using debug::fine;

constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr std::size_t seconds_max = 3600;
constexpr int samples_per_second = 100;  // as profile::cpu_options
// A wait of this length or longer is always noted. Shorter ones would cost a busy program too much.
constexpr std::uint32_t block_rate_ns = 10'000;
constexpr std::uint32_t mutex_rate = 1;  // every wait

answer run_is_over() { return error("the run is ending"); }

// By wait_kind: the epoch of the run in which a client is taking this profile, or 0. The clients of all servers of a
// run share one rate. A server that an earlier run has left behind is not waited for.
constinit std::array<atomic<std::uint32_t>, 2> waits_are_taken{};

wait_profile& profile_of(wait_kind which) noexcept {
  return which == wait_kind::blocked ? blocked_waits : contended_waits;
}

[[nodiscard]] bool take(wait_kind which, std::uint32_t epoch) noexcept {
  // acquire pairs with give_back
  return waits_are_taken[static_cast<std::size_t>(which)].exchange(epoch, acquire) != epoch;
}

void give_back(wait_kind which, std::uint32_t epoch) noexcept {
  std::uint32_t expected = epoch;  // a later run may have taken it meanwhile
  static_cast<void>(waits_are_taken[static_cast<std::size_t>(which)].compare_exchange(expected, 0, release, relaxed));
}

}  // namespace

class profile_requests::cpu_job final : public debug::job {
 public:
  explicit cpu_job(std::shared_ptr<run_gate> gate) noexcept : gate_(std::move(gate)) {}
  void has_begun(std::uint32_t number, std::int64_t until_ns) noexcept {
    is_on_ = true;
    number_ = number;
    ends_ns = until_ns;
  }
  ~cpu_job() override {
    cpu_samples unused;
    static_cast<void>(end(unused));
  }
  cpu_job(cpu_job const&) = delete;
  cpu_job& operator=(cpu_job const&) = delete;

  [[nodiscard]] answer finish() override {
    cpu_samples taken;
    if (char const* const why_not = end(taken)) return error(why_not);
    symbols known;
    return fine(profile_of_cpu(taken, known));
  }

 private:
  // Returns nullptr, or why there is no profile.
  [[nodiscard]] char const* end(cpu_samples& taken) {
    if (!std::exchange(is_on_, false)) return "the profile is not on";
    in_run const inside(*gate_);
    if (!inside) return "the run is ending, and the profile with it";
    cpu_profile* const its = profile_of_run::of_live_run();
    if (its == nullptr || !its->stop(taken, number_)) return "the program itself has ended the profile";
    return nullptr;
  }

  std::shared_ptr<run_gate> const gate_;
  bool is_on_ = false;
  std::uint32_t number_ = 0;
};

class profile_requests::waits_job final : public debug::job {
 public:
  // The caller has taken the profile, and leaves it to the job if the constructor returns.
  waits_job(wait_kind which, std::uint32_t epoch, std::int64_t until_ns)
      : which_(which), epoch_(epoch), before_(places_of_waits(profile_of(which))) {
    ends_ns = until_ns;
    number_ = begin_client_rate(which_, which_ == wait_kind::blocked ? block_rate_ns : mutex_rate);
  }
  ~waits_job() override { end(); }
  waits_job(waits_job const&) = delete;
  waits_job& operator=(waits_job const&) = delete;

  [[nodiscard]] answer finish() override {
    end();
    symbols known;
    return fine(profile_of_waits(noted_since(before_, places_of_waits(profile_of(which_))), known));
  }

 private:
  void end() noexcept {
    if (std::exchange(has_ended_, true)) return;
    end_client_rate(which_, number_);
    give_back(which_, epoch_);
  }

  wait_kind const which_;
  std::uint32_t const epoch_;
  wait_places const before_;
  std::uint32_t number_ = 0;  // of the rate
  bool has_ended_ = false;
};

profile_requests::profile_requests(Sched& s, std::shared_ptr<run_gate> gate) noexcept
    : sched_(s), gate_(std::move(gate)) {}

answer profile_requests::handle(std::string_view words) const {
  static constexpr char const* form = "profile WORDS: goroutines, or cpu, blocks or mutexes and 1 to 3600 seconds";
  if (words == "goroutines") return goroutines();
  std::size_t const blank = words.find(' ');
  if (blank == std::string_view::npos) return error(form);
  auto const ns = static_cast<std::int64_t>(debug::number_in(words.substr(blank + 1), 0, seconds_max)) * ns_per_s;
  std::string_view const kind = words.substr(0, blank);
  if (ns == 0) return error(form);
  if (kind == "cpu") return cpu(ns);
  if (kind == "blocks") return waits(wait_kind::blocked, ns);
  if (kind == "mutexes") return waits(wait_kind::contended, ns);
  return error(form);
}

// As debug_requests::dump.
answer profile_requests::goroutines() const {
  goroutine_list all;
  {
    in_run const inside(*gate_);
    if (!inside || sched_.end.exiting_m() != nullptr || sched_.world.is_forbidden()) return run_is_over();
    note_on_thread(sched_, all);
  }
  symbols known;
  return fine(profile_of_goroutines(all, known));
}

// The job is made first, so that nothing can fail between the begin of the profile and the moment when a job owns it.
answer profile_requests::cpu(std::int64_t ns) const {
  auto work = std::make_unique<cpu_job>(gate_);
  {
    in_run const inside(*gate_);
    cpu_profile* const its = profile_of_run::of_live_run();
    if (!inside || its == nullptr || sched_.end.exiting_m() != nullptr) return run_is_over();
    auto const begun = its->start(samples_per_second);
    if (begun.how == cpu_profile::outcome::already_on) return error("a CPU profile is being taken already");
    if (begun.how == cpu_profile::outcome::failed)
      return error(std::string("profile: ") + begun.call + ": " + std::strerror(begun.error));
    work->has_begun(begun.number, os::monotonic_ns() + ns);
  }
  return {.is_error = false, .text = {}, .work = std::move(work)};
}

answer profile_requests::waits(wait_kind which, std::int64_t ns) const {
  if (!profile_of(which).make_room()) return error("there is no memory for the profile");
  std::uint32_t const epoch = sched_.epoch;
  if (!take(which, epoch)) return error("another client is taking this profile");
  try {
    return {.is_error = false, .text = {}, .work = std::make_unique<waits_job>(which, epoch, os::monotonic_ns() + ns)};
  } catch (...) {
    give_back(which, epoch);
    throw;
  }
}

}  // namespace thrum::rt

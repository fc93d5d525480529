#include "command/trace/goroutine_replay.h"

#include "command/trace/text.h"

#include <numeric>

namespace thrum::command {
namespace {

using ull = unsigned long long;

std::uint16_t p_of(record const& one) noexcept { return one.stream < first_stream_without_p ? one.stream : no_p; }

std::string where(trace_file const& file, record const& one) {
  return text("goroutine %llu, `%s` at byte %llu", ull{one.argument(0)}, format_of(one.kind)->name,
              ull{file.byte_of(one)});
}

}  // namespace

std::uint32_t goroutine_replay::place_of(event const& now) {
  std::uint64_t const number = now.what->argument(0);
  auto const [found, is_new] = into_.by_number.try_emplace(number, static_cast<std::uint32_t>(into_.goroutines.size()));
  if (is_new) {
    goroutine_life& life = into_.goroutines.emplace_back();
    life.number = number;
    life.first_ns = now.ns;
    life.last_ns = now.ns;
    // Before its first record that changes the state, its state is not known yet.
    current_.push_back({.open = {.begin = into_.begin, .goroutine = found->second}, .number = now.number - 1});
  }
  return found->second;
}

void goroutine_replay::check_number(event const& now, std::uint32_t place) {
  current& of = current_[place];
  std::int64_t const missing = now.number - of.number - 1;
  of.number = now.number;
  if (missing == 0) return;
  if (missing < 0) {
    found_.add([&] {
      return where(file_, *now.what) + text(" has the sequence number %u a second time", now.what->sequence);
    });
    return;
  }
  if (gaps_.explain(into_.goroutines[place].last_ns)) {
    into_.missing_records += static_cast<std::uint64_t>(missing);
    close(place, into_.goroutines[place].last_ns, nullptr);
    of.is_known = true;
    return;
  }
  found_.add([&] {
    return where(file_, *now.what) + text(": %lld records are missing before the sequence number %u",
                                          static_cast<long long>(missing), now.what->sequence);
  });
}

void goroutine_replay::check_state(event const& now, std::uint32_t place, g_state before) {
  g_state const actual = current_[place].open.state;
  if (actual == before || actual == g_state::unknown) return;
  found_.add([&] {
    std::string const why = now.what->kind == record_kind::ready ? ", so this `ready` has no `stop`" : "";
    return where(file_, *now.what) +
           text(" needs the state %s, and the goroutine is %s", name_of(before), name_of(actual)) + why;
  });
}

void goroutine_replay::count_life(std::uint32_t place, std::int64_t end) {
  goroutine_life& life = into_.goroutines[place];
  g_interval const& open = current_[place].open;
  // The part before the first record is no part of the goroutine's life.
  std::int64_t const begin = std::max(open.begin, life.first_ns);
  if (end > begin) life.ns[static_cast<std::size_t>(open.state)] += end - begin;
}

// Ends the open interval, and begins one in which the state is unknown.
void goroutine_replay::close(std::uint32_t place, std::int64_t ns, record const* by) {
  count_life(place, ns);
  g_interval& open = current_[place].open;
  open.end = ns;
  if (by != nullptr) {
    open.ended_by = by->kind;
    open.end_detail = by->detail;
    if (open.state == g_state::running && open.begun_by == record_kind::none) open.p = p_of(*by);
  }
  if (open.state != g_state::absent && open.state != g_state::unknown) into_.intervals.push_back(open);
  open = {.begin = ns, .goroutine = place};
}

void goroutine_replay::open(std::uint32_t place, event const& now, g_state state) {
  record const& one = *now.what;
  g_interval& open = current_[place].open;
  open = {.begin = now.ns, .goroutine = place, .state = state, .detail = one.detail, .begun_by = one.kind};
  if (state == g_state::running) open.p = p_of(one);
  if (one.kind == record_kind::stop && waits_for_lock(one.detail)) open.holder = current_[place].holder;
  switch (one.kind) {
    case record_kind::ready:
      open.object = one.argument(1);
      open.site = one.argument(2);
      break;
    case record_kind::stop:
    case record_kind::host: open.object = one.argument(1); break;
    case record_kind::call: open.site = one.argument(1); break;
    default: break;
  }
}

// It is told by the goroutine itself, which is running.
void goroutine_replay::note_holder(event const& now, std::uint32_t place) {
  check_state(now, place, g_state::running);
  if (now.what->argument(1) == 0) {
    found_.add([&] { return where(file_, *now.what) + ": the holder 0 is no number of a goroutine"; });
  }
  current_[place].holder = now.what->argument(1);
}

void goroutine_replay::add(event const& now) {
  record const& one = *now.what;
  if (one.argument(0) == 0) {
    if (one.kind < record_kind::region) {
      found_.add([&] { return where(file_, one) + ": 0 is no number of a goroutine"; });
    }
    return;
  }
  std::uint32_t const place = place_of(now);
  check_number(now, place);
  goroutine_life& life = into_.goroutines[place];
  if (one.kind == record_kind::name) life.name = one.text();
  if (one.kind == record_kind::holder) note_holder(now, place);
  if (changes_state(one.kind)) {
    state_change const change = change_of(one.kind, one.detail);
    g_interval& open_now = current_[place].open;
    bool const is_first = !current_[place].is_known;
    current_[place].is_known = true;
    if (one.kind == record_kind::create) {
      if (!is_first || life.first_ns != now.ns || one.sequence != 0) {
        found_.add([&] { return where(file_, one) + " is not the first record of its goroutine"; });
      }
      life.site = one.argument(1);
      life.parent = one.argument(2);
      life.was_created = true;
      open_now.state = g_state::absent;
    } else {
      check_state(now, place, change.before);
      // The record tells what the goroutine was before, if that is not known.
      if (is_first) open_now.state = change.before;
    }
    close(place, now.ns, &one);
    open(place, now, change.after);
    current_[place].holder = 0;
    life.has_ended = one.kind == record_kind::end;
  } else if (current_[place].open.state == g_state::absent) {
    found_.add([&] { return where(file_, one) + " comes after the goroutine's end"; });
  }
  life.last_ns = now.ns;
}

void goroutine_replay::finish() {
  for (std::uint32_t place = 0; place < current_.size(); ++place) {
    goroutine_life& life = into_.goroutines[place];
    g_interval& open = current_[place].open;
    count_life(place, life.last_ns);
    if (open.state != g_state::absent && open.state != g_state::unknown) {
      open.end = into_.end;
      into_.intervals.push_back(open);
    }
    std::int64_t const sum = std::accumulate(life.ns.begin(), life.ns.end(), std::int64_t{0});
    if (sum != life.last_ns - life.first_ns) {
      found_.add([&] {
        return text("goroutine %llu: its states add up to %lld ns, and its life is %lld ns", ull{life.number},
                    static_cast<long long>(sum), static_cast<long long>(life.last_ns - life.first_ns));
      });
    }
  }
}

}  // namespace thrum::command

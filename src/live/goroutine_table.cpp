#include "live/goroutine_table.h"

#include "debug/json.h"
#include "debug/known_wait.h"
#include "live/http_request.h"
#include "os/clock.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace thrum::live {
namespace {

constexpr std::size_t limit_usual = 100;
constexpr std::size_t limit_most = 10'000;
constexpr std::size_t offset_most = 100'000;
constexpr std::size_t at_once = rt::record_pool::visits_at_once;  // they are copied (boot/origin_groups.cpp)

// The number of a parameter. Returns nothing if it is none, or more than `most`.
std::optional<std::size_t> number(std::string_view query, std::string_view name, std::size_t usual, std::size_t most) {
  std::optional<std::string> const text = parameter(query, name);
  if (!text) return usual;
  std::size_t value = 0;
  auto const [end, failed] = std::from_chars(text->data(), text->data() + text->size(), value);
  bool const is_number = failed == std::errc{} && end == text->data() + text->size() && value <= most;
  return is_number ? std::optional(value) : std::nullopt;
}

struct row {
  std::uint64_t id;
  std::uint64_t created_by;
  std::int64_t waits_ns;
  std::uintptr_t created_at;
  rt::g_status status;
  rt::wait_reason reason;
};

row seen(rt::G const& g, std::int64_t now_ns) noexcept {
  row one{.id = rt::hint_of(g.id),
          .created_by = rt::hint_of(g.task.created_by),
          .waits_ns = 0,
          .created_at = reinterpret_cast<std::uintptr_t>(rt::hint_of(g.task.created_at)),
          .status = g.status.load(rt::relaxed),
          .reason = rt::wait_reason::none};
  if (one.status != rt::g_status::waiting) return one;
  one.reason = rt::hint_of(g.waits_for);
  one.waits_ns = rt::known_wait_ns(g, one.reason, now_ns).value_or(0);
  return one;
}

bool has(std::string_view text, std::string_view part) noexcept { return text.find(part) != std::string_view::npos; }

void add_state(rt::json_writer& to, rt::g_status status, rt::wait_reason reason) {
  to.member("state", name_of(status));
  if (status == rt::g_status::waiting) to.member("reason", name_of(reason));
}

}  // namespace

struct goroutine_table::request {
  std::string search;
  std::size_t limit = limit_usual;
  std::size_t offset = 0;
  bool longest_first = false;

  [[nodiscard]] bool matches(rt::g_status status, rt::wait_reason reason, std::string_view place) const noexcept {
    bool const waits = status == rt::g_status::waiting;
    return search.empty() || has(name_of(status), search) || (waits && has(name_of(reason), search)) ||
           has(place, search);
  }
};

http_answer goroutine_table::answer(std::string_view query) {
  auto const limit = number(query, "limit", limit_usual, limit_most);
  auto const offset = number(query, "offset", 0, offset_most);
  if (!limit || !offset) return error_answer(400, "limit is a number up to 10000, and offset is one up to 100000");
  std::string const sort = parameter(query, "sort").value_or("id");
  if (sort != "id" && sort != "wait") return error_answer(400, "sort is id or wait");
  request const asked{.search = parameter(query, "search").value_or(""),
                      .limit = *limit,
                      .offset = *offset,
                      .longest_first = sort == "wait"};
  std::optional<std::string> const group = parameter(query, "group");
  if (group && *group != "place") return error_answer(400, "group is place");
  return group ? groups(asked) : rows(asked);
}

http_answer goroutine_table::groups(request const& asked) {
  std::vector<rt::origin_group> all;
  {
    rt::in_run const inside(gate_);
    if (!inside) return error_answer(503, "the run is ending");
    all = rt::groups_by_origin(sched_);
  }
  names_.learn(all);
  std::uint64_t total = 0;
  for (rt::origin_group const& group : all) total += group.count;
  std::erase_if(all, [&](rt::origin_group const& group) {
    return !asked.matches(group.status, group.reason, names_.of(group.created_at));
  });
  if (asked.longest_first) {
    std::sort(all.begin(), all.end(), [](rt::origin_group const& a, rt::origin_group const& b) {
      return a.longest_ns != b.longest_ns ? a.longest_ns > b.longest_ns : a.count > b.count;
    });
  }
  http_answer made = json_answer({});
  rt::json_writer to(made.body);
  to.begin_object().member("total", total).member("matching", std::uint64_t{all.size()}).name("groups").begin_array();
  for (std::size_t i = asked.offset; i < all.size() && i - asked.offset < asked.limit; ++i) {
    rt::origin_group const& group = all[i];
    to.begin_object().member("count", group.count);
    add_state(to, group.status, group.reason);
    if (group.longest_ns > 0) to.member("longest_ns", group.longest_ns);
    to.member("created_at", names_.of(group.created_at)).end_object();
  }
  to.end_array().end_object().end_line();
  return made;
}

http_answer goroutine_table::rows(request const& asked) {
  auto const comes_first = [&](row const& a, row const& b) {
    if (asked.longest_first && a.waits_ns != b.waits_ns) return a.waits_ns > b.waits_ns;
    return a.id < b.id;
  };
  std::vector<rt::origin_group> places;  // also those of goroutines that are made between the two walks
  {
    rt::in_run const inside(gate_);
    if (!inside) return error_answer(503, "the run is ending");
    places = rt::groups_by_origin(sched_);
  }
  names_.learn(places);
  std::unordered_set<std::uintptr_t> known;
  for (rt::origin_group const& group : places) known.insert(group.created_at);

  // The best rows so far are a heap, so their number has a bound.
  std::size_t const most = asked.offset + asked.limit;
  std::vector<row> best;
  std::uint64_t total = 0;
  std::uint64_t matching = 0;
  auto const consider = [&](row const& one) {
    if (!is_alive(one.status) || !known.contains(one.created_at)) return;
    ++total;
    if (!asked.matches(one.status, one.reason, names_.of(one.created_at))) return;
    ++matching;
    if (most == 0 || (best.size() == most && !comes_first(one, best.front()))) return;
    if (best.size() == most) {
      std::pop_heap(best.begin(), best.end(), comes_first);
      best.pop_back();
    }
    best.push_back(one);
    std::push_heap(best.begin(), best.end(), comes_first);
  };
  {
    rt::in_run const inside(gate_);
    if (!inside) return error_answer(503, "the run is ending");
    auto const copies = std::make_unique<std::array<row, at_once>>();
    std::int64_t const now_ns = rt::os::monotonic_ns();
    auto walk = sched_.records.begin_walk();
    for (bool is_more = true; is_more;) {
      std::size_t count = 0;
      is_more = sched_.records.walk_on(walk, at_once, [&](rt::G const& g) {
        (*copies)[count++] = seen(g, now_ns);
        return true;
      });
      for (std::size_t i = 0; i < count; ++i) consider((*copies)[i]);
    }
  }
  std::sort_heap(best.begin(), best.end(), comes_first);

  http_answer made = json_answer({});
  rt::json_writer to(made.body);
  to.begin_object().member("total", total).member("matching", matching).name("goroutines").begin_array();
  for (std::size_t i = asked.offset; i < best.size(); ++i) {
    row const& one = best[i];
    to.begin_object().member("id", one.id);
    add_state(to, one.status, one.reason);
    if (one.waits_ns > 0) to.member("waits_for_ns", one.waits_ns);
    if (one.created_at != 0) to.member("created_by", one.created_by);
    to.member("created_at", names_.of(one.created_at)).end_object();
  }
  to.end_array().end_object().end_line();
  return made;
}

}  // namespace thrum::live

#include "debug/stack_groups.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

namespace thrum::rt {
namespace {

// Bytes that are equal for what belongs together.
class key_bytes {
 public:
  void clear() noexcept { bytes_.clear(); }
  template <class T>
  void add(T const& value) {
    bytes_.append(reinterpret_cast<char const*>(&value), sizeof(T));  // NOLINT(bugprone-sizeof-expression)
  }
  void add_all(std::vector<std::uintptr_t> const& values) {
    add(values.size());
    for (std::uintptr_t const value : values) add(value);
  }
  [[nodiscard]] std::string const& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

void add_state(goroutine_entry const& e, key_bytes& out) {
  out.add(e.status);
  out.add(e.waits() ? e.reason : wait_reason::none);
  out.add(e.is_locked);
  out.add(e.is_foreign);
  out.add(e.created_at);
}

// Returns the member of `all` that belongs to the key. If there is none, adds make() to it.
template <class T, class Make>
T& find_or_add(std::unordered_map<std::string, std::size_t>& index, key_bytes const& key, std::vector<T>& all,
               Make make) {
  auto const [at, is_new] = index.try_emplace(key.bytes(), all.size());
  if (is_new) all.push_back(make());
  return all[at->second];
}

// So that two dumps of the same goroutines are equal.
bool comes_before(goroutine_entries const& a, goroutine_entries const& b) {
  return a.size() != b.size() ? a.size() > b.size() : a.front()->id < b.front()->id;
}

}  // namespace

waiting_times times_of(goroutine_entries const& some) {
  std::vector<std::int64_t> known;
  for (goroutine_entry const* const e : some) {
    if (e->waits_for_ns > 0) known.push_back(e->waits_for_ns);
  }
  if (known.empty()) return {};
  std::sort(known.begin(), known.end());
  return {.known = known.size(),
          .shortest_ns = known.front(),
          .median_ns = known[(known.size() - 1) / 2],
          .longest_ns = known.back(),
          .total_ns = std::accumulate(known.begin(), known.end(), std::int64_t{0})};
}

std::vector<stack_group> groups_of(goroutine_list const& all, symbols& known) {
  std::vector<stack_group> groups;
  std::unordered_map<std::string, std::size_t> index;
  key_bytes key;
  for (goroutine_entry const& e : all.entries()) {
    goroutine_stack stack = stack_of(e, known);
    key.clear();
    add_state(e, key);
    key.add(e.asleep.is_known() ? e.asleep.call : -1L);
    key.add(stack.announced_at);
    key.add_all(stack.known);
    key.add_all(stack.guessed);
    auto const make = [&] { return stack_group{.stack = std::move(stack), .members = {}}; };
    find_or_add(index, key, groups, make).members.push_back(&e);
  }
  std::sort(groups.begin(), groups.end(),
            [](auto const& a, auto const& b) { return comes_before(a.members, b.members); });
  return groups;
}

std::vector<waiting_place> places_of_waiting(goroutine_list const& all, symbols& known) {
  std::vector<waiting_place> places;
  std::unordered_map<std::string, std::size_t> index;
  key_bytes key;
  for (stack_group const& group : groups_of(all, known)) {
    if (!group.first().waits()) continue;
    place_in_program const at = find_place_in_program(known, group.stack);
    key.clear();
    add_state(group.first(), key);
    key.add(at.pc);
    key.add(at.place);
    auto const make = [&] { return waiting_place{.waits_at = at, .members = {}, .times = {}}; };
    auto& members = find_or_add(index, key, places, make).members;
    members.insert(members.end(), group.members.begin(), group.members.end());
  }
  for (waiting_place& place : places) place.times = times_of(place.members);
  std::sort(places.begin(), places.end(), [](auto const& a, auto const& b) {
    return a.times.total_ns != b.times.total_ns ? a.times.total_ns > b.times.total_ns
                                                : comes_before(a.members, b.members);
  });
  return places;
}

}  // namespace thrum::rt

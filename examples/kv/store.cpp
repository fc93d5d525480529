#include "store.h"

#include "command.h"
#include "glob.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace kv {
namespace {

[[noreturn]] void refuse_type() {
  throw command_error("WRONGTYPE Operation against a key holding the wrong kind of value");
}

}  // namespace

std::string take(list& from, list_end end) {
  std::string element = std::move(end == list_end::left ? from.front() : from.back());
  end == list_end::left ? from.pop_front() : from.pop_back();
  return element;
}

std::string& entry::as_string() {
  if (auto* const text = std::get_if<std::string>(&value)) return *text;
  refuse_type();
}

list& entry::as_list() {
  if (auto* const elements = std::get_if<list>(&value)) return *elements;
  refuse_type();
}

// Waiting for a lock may throw; the destructor then unlocks those that are locked.
store::access::access(store& of, shard_set which) : access(of) {
  for (shard_set left = which; left != 0; left &= left - 1) {
    of_.shards_[static_cast<std::size_t>(std::countr_zero(left))].mutex.lock();
    which_ |= left & -left;
  }
}

store::access::~access() {
  for (shard_set left = which_; left != 0; left &= left - 1) {
    of_.shards_[static_cast<std::size_t>(std::countr_zero(left))].mutex.unlock();
  }
}

store::access store::lock(std::span<key const> keys) {
  shard_set which = 0;
  for (key const& k : keys) which |= shard_set{1} << index_of(k);
  return {*this, which};
}

// Does not find expired entries.
store::table::iterator store::access::locate(shard& in, key const& k) {
  auto const found = in.entries.find(k);
  if (found == in.entries.end() || !is_over(found->second)) return found;
  remove(in, found);
  return in.entries.end();
}

entry* store::access::find(key const& k) {
  shard& in = shard_of(k);
  auto const found = locate(in, k);
  return found == in.entries.end() ? nullptr : &found->second;
}

entry& store::access::make(key const& k) {
  if (entry* const found = find(k)) return *found;
  return shard_of(k).entries.try_emplace(std::string(k.text)).first->second;
}

list* store::access::find_list(key const& k) {
  entry* const found = find(k);
  if (found == nullptr) return nullptr;
  list& elements = found->as_list();
  if (!elements.empty()) return &elements;
  erase(k);
  return nullptr;
}

list& store::access::make_list(key const& k, list&& elements) {
  return shard_of(k).entries.try_emplace(std::string(k.text), std::move(elements)).first->second.as_list();
}

bool store::access::erase(key const& k) {
  shard& in = shard_of(k);
  auto const found = locate(in, k);
  if (found == in.entries.end()) return false;
  remove(in, found);
  return true;
}

void store::access::remove(shard& in, table::iterator which) {
  if (which->second.expires != never) --in.with_expiry;
  removed_.push_back(in.entries.extract(which));
}

void store::access::expire_at(key const& k, entry& e, moment when) noexcept {
  shard& in = shard_of(k);
  if (e.expires != never) --in.with_expiry;
  e.expires = when;
  if (e.expires != never) ++in.with_expiry;
}

void store::access::assign(key const& k, std::string_view value) {
  entry& e = make(k);
  if (auto* const text = std::get_if<std::string>(&e.value)) {
    text->assign(value);
  } else {
    e.value.emplace<std::string>(value);
  }
  if (e.expires != never) expire_at(k, e, never);
}

void store::access::add_waiter(key const& k, waiter& w) {
  queues& waiting = shard_of(k).waiting;
  auto found = waiting.find(k);
  if (found == waiting.end()) found = waiting.try_emplace(std::string(k.text)).first;
  found->second.push_back(&w);
}

void store::access::remove_waiter(key const& k, waiter& w) noexcept {
  queues& waiting = shard_of(k).waiting;
  auto const found = waiting.find(k);
  if (found == waiting.end()) return;
  std::erase(found->second, &w);
  if (found->second.empty()) waiting.erase(found);
}

void store::access::settle_list(key const& k) {
  list* const elements = find_list(k);
  if (elements == nullptr) return;
  queues& waiting = shard_of(k).waiting;
  if (!waiting.empty()) {
    auto const queue = waiting.find(k);
    while (queue != waiting.end() && !queue->second.empty() && !elements->empty()) {
      popped what{.key = std::string(k.text), .element = {}};  // may throw, so it comes before a waiter is claimed
      waiter& first = *queue->second.front();
      queue->second.pop_front();
      if (!first.claim()) continue;
      what.element = take(*elements, first.from);
      first.give(std::move(what));
    }
  }
  if (elements->empty()) erase(k);
}

void store::clear() {
  std::array<table, shard_count> old;  // destroyed after the locks are released
  access const all(*this, ~shard_set{0});
  for (std::size_t i = 0; i < shard_count; ++i) {
    std::swap(shards_[i].entries, old[i]);
    shards_[i].with_expiry = 0;
  }
}

std::size_t store::size() {
  std::size_t sum = 0;
  for (shard& each : shards_) {
    std::lock_guard const guard(each.mutex);
    sum += each.entries.size();
  }
  return sum;
}

std::vector<std::string> store::keys_like(std::string_view pattern) {
  std::vector<std::string> found;
  for (shard& each : shards_) {
    std::lock_guard const guard(each.mutex);
    for (auto const& [name, value] : each.entries) {
      if (matches(pattern, name) && !is_over(value)) found.push_back(name);
    }
  }
  return found;
}

// Searches each table in a circle, some buckets at a time, and goes on with a table while it finds many expired keys.
// So no command has to wait for a search through everything. Redis takes samples for the same reason.
void store::expire_some() {
  constexpr std::size_t buckets_at_a_time = 64;
  for (std::size_t i = 0; i < shard_count; ++i) {
    shard& in = shards_[i];
    for (std::size_t over = buckets_at_a_time; over > buckets_at_a_time / 4;) {
      over = 0;
      access here(*this, shard_set{1} << i);
      if (in.with_expiry == 0) break;
      for (std::size_t n = 0; n < buckets_at_a_time; ++n) {
        in.next_bucket = (in.next_bucket + 1) % in.entries.bucket_count();
        for (auto at = in.entries.begin(in.next_bucket); at != in.entries.end(in.next_bucket);) {
          std::string_view const name = at->first;
          bool const is_old = is_over(at->second);
          ++at;
          if (!is_old) continue;
          here.remove(in, in.entries.find(key(name)));
          ++over;
        }
      }
    }
  }
}

}  // namespace kv

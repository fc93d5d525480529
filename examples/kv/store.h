// The keys and their values, distributed over 64 shards by hash. Each shard has its own mutex, so two commands wait for
// each other only if they use keys of the same shard.
//
//   key const name(args[1]);
//   auto shards = db.lock(name);
//   if (entry* found = shards.find(name)) ...
//
// A command locks all shards that it needs at once, in order. So other commands see all of its effects or none, as in
// Redis, and no deadlock is possible. A command never waits for a client while it holds a lock.
#pragma once

#include "waiter.h"
#include <thrum/clock.h>
#include <thrum/mutex.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace kv {

using list = std::deque<std::string>;
using moment = std::chrono::time_point<thrum::clock, std::chrono::milliseconds>;
inline constexpr moment never = moment::max();
[[nodiscard]] inline moment now() noexcept {
  return std::chrono::floor<std::chrono::milliseconds>(thrum::clock::now());
}

// Removes an element and returns it. The list must not be empty.
[[nodiscard]] std::string take(list& from, list_end end);

// A key and its hash, which is computed once and used for the shard and for the table in it.
struct key {
  explicit key(std::string_view name) noexcept : text(name), hash(std::hash<std::string_view>()(name)) {}
  std::string_view text;
  std::size_t hash;
};

struct entry {
  entry() = default;
  explicit entry(list&& elements) : value(std::move(elements)) {}

  std::variant<std::string, list> value;
  moment expires = never;  // changed only by access::expire_at, which keeps the count

  // These throw command_error if the entry has the other type.
  [[nodiscard]] std::string& as_string();
  [[nodiscard]] list& as_list();
};

class store {
  // Not noexcept on purpose, because the table then stores the hashes and does not compute them again when it grows.
  struct hash_of {
    using is_transparent = void;
    std::size_t operator()(std::string const& text) const { return std::hash<std::string_view>()(text); }
    std::size_t operator()(key const& k) const { return k.hash; }
  };
  struct same_key {
    using is_transparent = void;
    bool operator()(std::string const& a, std::string const& b) const noexcept { return a == b; }
    bool operator()(key const& a, std::string const& b) const noexcept { return a.text == b; }
    bool operator()(std::string const& a, key const& b) const noexcept { return a == b.text; }
  };
  using table = std::unordered_map<std::string, entry, hash_of, same_key>;
  using queues = std::unordered_map<std::string, std::deque<waiter*>, hash_of, same_key>;

  struct alignas(64) shard {
    thrum::mutex mutex;
    // under the mutex
    table entries;
    std::size_t with_expiry = 0;
    std::size_t next_bucket = 0;  // where expire_some continues
    // Clients that wait for a list to be filled, by key; the client that has waited longest comes first.
    queues waiting;
  };

  using shard_set = std::uint64_t;  // one bit per shard
  static constexpr std::size_t shard_count = std::numeric_limits<shard_set>::digits;
  static constexpr int shard_shift = std::numeric_limits<std::size_t>::digits - std::countr_zero(shard_count);
  static constexpr std::size_t index_of(key const& k) noexcept {
    return k.hash >> shard_shift;
  }  // the tables use the low bits

 public:
  // Some of the shards, locked for the lifetime of this object.
  class access {
   public:
    ~access();
    access(access const&) = delete;
    access& operator=(access const&) = delete;

    // Returns nullptr if there is no such entry, or if it has expired.
    [[nodiscard]] entry* find(key const& k);
    // Returns the entry of this key. If there is none, makes one with an empty string.
    [[nodiscard]] entry& make(key const& k);
    // Returns nullptr if there is no such list. Removes a list without elements. Throws command_error if the entry is
    // not a list.
    [[nodiscard]] list* find_list(key const& k);
    // The key must not exist. The list is made together with its elements, so that no empty list is left if something
    // throws.
    list& make_list(key const& k, list&& elements);
    bool erase(key const& k);
    void expire_at(key const& k, entry& e, moment when) noexcept;
    // Sets a new value and removes the expiry time.
    void assign(key const& k, std::string_view value);

    void add_waiter(key const& k, waiter& w);
    void remove_waiter(key const& k, waiter& w) noexcept;
    // To be called after elements were added to a list: gives them to the waiting clients, in the order in which those
    // came. Removes a list without elements.
    void settle_list(key const& k);

   private:
    friend store;
    explicit access(store& of) noexcept : of_(of) {}
    access(store& of, shard_set which);
    [[nodiscard]] shard& shard_of(key const& k) noexcept { return of_.shards_[index_of(k)]; }
    [[nodiscard]] table::iterator locate(shard& in, key const& k);
    void remove(shard& in, table::iterator which);

    store& of_;
    shard_set which_ = 0;
    std::vector<table::node_type> removed_;  // destroyed after the locks are released, because a list may be long
  };

  [[nodiscard]] access lock(key const& k) { return {*this, shard_set{1} << index_of(k)}; }
  [[nodiscard]] access lock(std::span<key const> keys);

  void clear();
  [[nodiscard]] std::size_t size();
  // Locks one shard after the other, so that a long search does not block everything. Keys that are added meanwhile may
  // be missed.
  [[nodiscard]] std::vector<std::string> keys_like(std::string_view pattern);
  // Removes expired keys that no command asks for. To be called several times a second.
  void expire_some();

 private:
  static bool is_over(entry const& e) noexcept { return e.expires != never && e.expires <= now(); }

  std::array<shard, shard_count> shards_;
};

}  // namespace kv

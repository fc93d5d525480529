// The keys and what they hold, dealt out to 64 shards by their hash. Each shard has a mutex of its own: two commands wait for each other
// only if their keys share one.
//
//   key const name(args[1]);
//   auto shards = db.lock(name);
//   if (entry* found = shards.find(name)) ...
//
// A command locks all the shards that it needs at once, in order, and so is seen whole or not at all, as in Redis, and no two
// can wait for each other in a circle. Nothing waits for a client while it holds a lock.
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

// Takes an element; there must be one.
[[nodiscard]] std::string take(list& from, list_end end);

// A key and its hash, computed once for the shard and the table in it.
struct key {
  explicit key(std::string_view name) noexcept : text(name), hash(std::hash<std::string_view>()(name)) {}
  std::string_view text;
  std::size_t hash;
};

struct entry {
  entry() = default;
  explicit entry(list&& elements) : value(std::move(elements)) {}

  std::variant<std::string, list> value;
  moment expires = never;  // changed by access::expire_at alone, which counts

  // These throw command_error when it is of the other type.
  [[nodiscard]] std::string& as_string();
  [[nodiscard]] list& as_list();
};

class store {
  // Not noexcept on purpose: the table then keeps the hashes, and does not compute them again when it grows.
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
    std::size_t next_bucket = 0;  // that expire_some looks at
    queues waiting;               // clients that wait for a list to be filled, by key, the longest first
  };

  using shard_set = std::uint64_t;  // a bit each
  static constexpr std::size_t shard_count = std::numeric_limits<shard_set>::digits;
  static constexpr int shard_shift = std::numeric_limits<std::size_t>::digits - std::countr_zero(shard_count);
  static constexpr std::size_t index_of(key const& k) noexcept {
    return k.hash >> shard_shift;
  }  // the tables use the low bits

 public:
  // Some of the shards, locked for as long as this lives.
  class access {
   public:
    ~access();
    access(access const&) = delete;
    access& operator=(access const&) = delete;

    // Null: there is none, or its time is over.
    [[nodiscard]] entry* find(key const& k);
    // The entry of this key, a new one if there is none: with an empty string.
    [[nodiscard]] entry& make(key const& k);
    // Null: there is none. One without elements goes. Throws command_error when it is no list.
    [[nodiscard]] list* find_list(key const& k);
    // Where there is none. It comes with its elements: whatever throws, no list without any stays.
    list& make_list(key const& k, list&& elements);
    bool erase(key const& k);
    void expire_at(key const& k, entry& e, moment when) noexcept;
    // A new value keeps no old time.
    void assign(key const& k, std::string_view value);

    void add_waiter(key const& k, waiter& w);
    void remove_waiter(key const& k, waiter& w) noexcept;
    // After something was put into a list: whoever waits for it gets it, in order of coming. A list without elements goes.
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
    std::vector<table::node_type> removed_;  // destroyed when the locks are gone: a list may be long
  };

  [[nodiscard]] access lock(key const& k) { return {*this, shard_set{1} << index_of(k)}; }
  [[nodiscard]] access lock(std::span<key const> keys);

  void clear();
  [[nodiscard]] std::size_t size();
  // One shard after the other, so that a long search does not stop everything: keys that come meanwhile may be missed.
  [[nodiscard]] std::vector<std::string> keys_like(std::string_view pattern);
  // Removes keys whose time is over and which nobody asks for. To be called several times a second.
  void expire_some();

 private:
  static bool is_over(entry const& e) noexcept { return e.expires != never && e.expires <= now(); }

  std::array<shard, shard_count> shards_;
};

}  // namespace kv

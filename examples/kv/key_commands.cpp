// Commands for keys of any type: existence, type and expiry.
#include "command.h"
#include "expiry.h"
#include "store.h"

#include <algorithm>
#include <array>
#include <vector>

namespace kv {

moment expiry_of(call const& c, std::string_view time, time_unit unit, must_last lasting) {
  std::int64_t ms = integer_of(time);
  bool const fits = (lasting == must_last::no || ms > 0) &&
                    !(unit == time_unit::seconds && __builtin_mul_overflow(ms, 1000, &ms)) &&
                    !__builtin_add_overflow(ms, now().time_since_epoch().count(), &ms);
  if (!fits) throw command_error("ERR invalid expire time in '" + lower_case(c.args[0]) + "' command");
  return moment(std::chrono::milliseconds(std::min(ms, never.time_since_epoch().count() - 1)));
}

namespace {

void del(call& c) {
  std::vector<key> const names(c.args.begin() + 1, c.args.end());
  auto shards = c.db.lock(names);
  c.reply.integer(std::count_if(names.begin(), names.end(), [&](key const& k) { return shards.erase(k); }));
}

void exists(call& c) {
  std::vector<key> const names(c.args.begin() + 1, c.args.end());
  auto shards = c.db.lock(names);
  c.reply.integer(std::count_if(names.begin(), names.end(), [&](key const& k) { return shards.find(k) != nullptr; }));
}

void type(call& c) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  entry const* const found = shards.find(name);
  c.reply.status(found == nullptr ? "none" : std::holds_alternative<list>(found->value) ? "list" : "string");
}

// Which old expiry times may be replaced by the new one. A key without an expiry time counts as living longest.
struct expire_conditions {
  bool only_without = false;
  bool only_with = false;
  bool only_later = false;
  bool only_sooner = false;

  [[nodiscard]] bool hold(moment before, moment after) const noexcept {
    return !(only_without && before != never) && !(only_with && before == never) && !(only_later && after <= before) &&
           !(only_sooner && after >= before);
  }
};

expire_conditions expire_conditions_of(arguments options) {
  expire_conditions chosen;
  for (std::string_view const word : options) {
    if (is_word(word, "NX")) {
      chosen.only_without = true;
    } else if (is_word(word, "XX")) {
      chosen.only_with = true;
    } else if (is_word(word, "GT")) {
      chosen.only_later = true;
    } else if (is_word(word, "LT")) {
      chosen.only_sooner = true;
    } else {
      throw command_error("ERR Unsupported option " + std::string(word));
    }
  }
  if (chosen.only_without && (chosen.only_with || chosen.only_later || chosen.only_sooner)) {
    throw command_error("ERR NX and XX, GT or LT options at the same time are not compatible");
  }
  if (chosen.only_later && chosen.only_sooner) {
    throw command_error("ERR GT and LT options at the same time are not compatible");
  }
  return chosen;
}

void expire_in(call& c, time_unit unit) {
  expire_conditions const conditions = expire_conditions_of(c.args.subspan(3));
  moment const expires = expiry_of(c, c.args[2], unit, must_last::no);
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  entry* const found = shards.find(name);
  bool const is_set = found != nullptr && conditions.hold(found->expires, expires);
  if (is_set && expires <= now()) {
    shards.erase(name);
  } else if (is_set) {
    shards.expire_at(name, *found, expires);
  }
  c.reply.integer(is_set ? 1 : 0);
}
void expire(call& c) { expire_in(c, time_unit::seconds); }
void pexpire(call& c) { expire_in(c, time_unit::milliseconds); }

// -1: no expiry time, -2: there is no such key.
void time_left(call& c, std::int64_t unit_ms) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  entry const* const found = shards.find(name);
  if (found == nullptr || found->expires == never) return c.reply.integer(found == nullptr ? -2 : -1);
  auto const left_ms = std::max<std::int64_t>((found->expires - now()).count(), 0);
  c.reply.integer((left_ms + unit_ms / 2) / unit_ms);
}
void ttl(call& c) { time_left(c, 1000); }
void pttl(call& c) { time_left(c, 1); }

void persist(call& c) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  entry* const found = shards.find(name);
  bool const had_expiry = found != nullptr && found->expires != never;
  if (had_expiry) shards.expire_at(name, *found, never);
  c.reply.integer(had_expiry ? 1 : 0);
}

void keys(call& c) {
  auto const found = c.db.keys_like(c.args[1]);
  c.reply.array(found.size());
  for (std::string const& name : found) c.reply.bulk(name);
}

void dbsize(call& c) { c.reply.integer(static_cast<std::int64_t>(c.db.size())); }

void flush(call& c) {
  if (c.args.size() > 2 || (c.args.size() == 2 && !is_word(c.args[1], "SYNC") && !is_word(c.args[1], "ASYNC")))
    refuse_syntax();
  c.db.clear();
  c.reply.ok();
}

constexpr std::array commands{
    command{"DEL", -2, del},       command{"EXISTS", -2, exists},   command{"TYPE", 2, type},
    command{"EXPIRE", -3, expire}, command{"PEXPIRE", -3, pexpire}, command{"TTL", 2, ttl},
    command{"PTTL", 2, pttl},      command{"PERSIST", 2, persist},  command{"KEYS", 2, keys},
    command{"DBSIZE", 1, dbsize},  command{"FLUSHALL", -1, flush},  command{"FLUSHDB", -1, flush},
};

}  // namespace

std::span<command const> key_commands() { return commands; }

}  // namespace kv

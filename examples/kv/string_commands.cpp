#include "command.h"
#include "expiry.h"
#include "numbers.h"
#include "request_parser.h"
#include "store.h"

#include <array>
#include <limits>
#include <optional>
#include <vector>

namespace kv {
namespace {

void reply_string(call& c, entry* found) {
  if (found == nullptr) {
    c.reply.null();
  } else {
    c.reply.bulk(found->as_string());
  }
}

void get(call& c) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  reply_string(c, shards.find(name));
}

struct set_options {
  bool only_new = false;
  bool only_old = false;
  bool answer_old = false;
  bool keep_expiry = false;
  std::optional<moment> expires;
};

set_options set_options_of(call const& c) {
  set_options chosen;
  std::optional<std::string_view> time;
  time_unit unit = time_unit::seconds;
  for (std::size_t i = 3; i < c.args.size(); ++i) {
    std::string_view const word = c.args[i];
    if (is_word(word, "NX") && !chosen.only_old) {
      chosen.only_new = true;
    } else if (is_word(word, "XX") && !chosen.only_new) {
      chosen.only_old = true;
    } else if (is_word(word, "GET")) {
      chosen.answer_old = true;
    } else if (is_word(word, "KEEPTTL") && !time) {
      chosen.keep_expiry = true;
    } else if ((is_word(word, "EX") || is_word(word, "PX")) && !chosen.keep_expiry && !time && i + 1 < c.args.size()) {
      unit = is_word(word, "EX") ? time_unit::seconds : time_unit::milliseconds;
      time = c.args[++i];
    } else {
      refuse_syntax();
    }
  }
  if (time) chosen.expires = expiry_of(c, *time, unit, must_last::yes);
  return chosen;
}

void set(call& c) {
  set_options const chosen = c.args.size() == 3 ? set_options() : set_options_of(c);
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  if (chosen.only_new || chosen.only_old || chosen.answer_old || chosen.keep_expiry) {
    entry* const old = shards.find(name);
    if (chosen.answer_old) reply_string(c, old);
    if ((chosen.only_new && old != nullptr) || (chosen.only_old && old == nullptr)) {
      if (!chosen.answer_old) c.reply.null();
      return;
    }
    moment const expired = old == nullptr ? never : old->expires;
    shards.assign(name, c.args[2]);
    if (chosen.keep_expiry) shards.expire_at(name, shards.make(name), expired);
  } else {
    shards.assign(name, c.args[2]);
  }
  if (chosen.expires) shards.expire_at(name, shards.make(name), *chosen.expires);
  if (!chosen.answer_old) c.reply.ok();
}

void setnx(call& c) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  bool const is_new = shards.find(name) == nullptr;
  if (is_new) shards.assign(name, c.args[2]);
  c.reply.integer(is_new ? 1 : 0);
}

void set_with_expiry(call& c, time_unit unit) {
  moment const expires = expiry_of(c, c.args[2], unit, must_last::yes);
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  shards.assign(name, c.args[3]);
  shards.expire_at(name, shards.make(name), expires);
  c.reply.ok();
}
void setex(call& c) { set_with_expiry(c, time_unit::seconds); }
void psetex(call& c) { set_with_expiry(c, time_unit::milliseconds); }

void getset(call& c) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  reply_string(c, shards.find(name));
  shards.assign(name, c.args[2]);
}

void getdel(call& c) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  reply_string(c, shards.find(name));
  shards.erase(name);
}

void append(call& c) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  std::string& text = shards.make(name).as_string();
  if (text.size() + c.args[2].size() > static_cast<std::size_t>(request_parser::bulk_bytes_max)) {
    throw command_error("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
  }
  text.append(c.args[2]);
  c.reply.integer(static_cast<std::int64_t>(text.size()));
}

void strlen(call& c) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  entry* const found = shards.find(name);
  c.reply.integer(found == nullptr ? 0 : static_cast<std::int64_t>(found->as_string().size()));
}

void add(call& c, std::int64_t by) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  entry* const found = shards.find(name);
  std::int64_t value = found == nullptr ? 0 : integer_of(found->as_string());
  if (__builtin_add_overflow(value, by, &value)) throw command_error("ERR increment or decrement would overflow");
  std::array<char, 24> digits;
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  std::string& text = found == nullptr ? shards.make(name).as_string() : found->as_string();
  text.assign(digits.data(), end);
  c.reply.integer(value);
}
void incr(call& c) { add(c, 1); }
void decr(call& c) { add(c, -1); }
void incrby(call& c) { add(c, integer_of(c.args[2])); }
void decrby(call& c) {
  std::int64_t const by = integer_of(c.args[2]);
  if (by == std::numeric_limits<std::int64_t>::min()) throw command_error("ERR decrement would overflow");
  add(c, -by);
}

void mget(call& c) {
  std::vector<key> const names(c.args.begin() + 1, c.args.end());
  auto shards = c.db.lock(names);
  c.reply.array(names.size());
  for (key const& name : names) {
    entry* const found = shards.find(name);
    auto const* const text = found == nullptr ? nullptr : std::get_if<std::string>(&found->value);
    text == nullptr ? c.reply.null() : c.reply.bulk(*text);
  }
}

void mset(call& c) {
  if (c.args.size() % 2 == 0) refuse_arity(c);
  std::vector<key> names;
  for (std::size_t i = 1; i < c.args.size(); i += 2) names.emplace_back(c.args[i]);
  auto shards = c.db.lock(names);
  for (std::size_t i = 0; i < names.size(); ++i) shards.assign(names[i], c.args[2 * i + 2]);
  c.reply.ok();
}

constexpr std::array commands{
    command{"GET", 2, get},       command{"SET", -3, set},      command{"SETNX", 3, setnx},
    command{"SETEX", 4, setex},   command{"PSETEX", 4, psetex}, command{"GETSET", 3, getset},
    command{"GETDEL", 2, getdel}, command{"APPEND", 3, append}, command{"STRLEN", 2, strlen},
    command{"INCR", 2, incr},     command{"DECR", 2, decr},     command{"INCRBY", 3, incrby},
    command{"DECRBY", 3, decrby}, command{"MGET", -2, mget},    command{"MSET", -3, mset},
};

}  // namespace

std::span<command const> string_commands() { return commands; }

}  // namespace kv

#include "blocking_pop.h"
#include "command.h"
#include "numbers.h"
#include "store.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace kv {
namespace {

void add(list& to, list_end end, arguments elements) {
  for (std::string_view const element : elements) {
    end == list_end::left ? to.emplace_front(element) : to.emplace_back(element);
  }
}

void push(call& c, list_end end) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  list* elements = shards.find_list(name);
  if (elements == nullptr) {
    list made;
    add(made, end, c.args.subspan(2));
    elements = &shards.make_list(name, std::move(made));
  } else {
    add(*elements, end, c.args.subspan(2));
  }
  auto const size = static_cast<std::int64_t>(elements->size());
  shards.settle_list(name);
  c.reply.integer(size);
}
void lpush(call& c) { push(c, list_end::left); }
void rpush(call& c) { push(c, list_end::right); }

std::size_t count_of(std::string_view text) {
  if (auto const count = parse_integer(text); count && *count >= 0) return static_cast<std::size_t>(*count);
  throw command_error("ERR value is out of range, must be positive");
}

void pop(call& c, list_end end) {
  if (c.args.size() > 3) refuse_arity(c);
  bool const has_count = c.args.size() == 3;
  std::size_t const count = has_count ? count_of(c.args[2]) : 1;
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  list* const elements = shards.find_list(name);
  if (elements == nullptr) return has_count ? c.reply.null_array() : c.reply.null();
  std::size_t const taken = std::min(count, elements->size());
  if (has_count) c.reply.array(taken);
  for (std::size_t i = 0; i < taken; ++i) {
    c.reply.bulk(end == list_end::left ? elements->front() : elements->back());
    end == list_end::left ? elements->pop_front() : elements->pop_back();
  }
  if (elements->empty()) shards.erase(name);
}
void lpop(call& c) { pop(c, list_end::left); }
void rpop(call& c) { pop(c, list_end::right); }

void llen(call& c) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  list const* const elements = shards.find_list(name);
  c.reply.integer(elements == nullptr ? 0 : static_cast<std::int64_t>(elements->size()));
}

// Negative indexes count from the end.
std::int64_t from_front(std::int64_t index, list const& in) {
  return index < 0 ? index + static_cast<std::int64_t>(in.size()) : index;
}

void lrange(call& c) {
  std::int64_t const first_asked = integer_of(c.args[2]);
  std::int64_t const last_asked = integer_of(c.args[3]);
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  list const* const found = shards.find_list(name);
  if (found == nullptr) return c.reply.array(0);
  list const& elements = *found;
  std::int64_t const first = std::max<std::int64_t>(from_front(first_asked, elements), 0);
  std::int64_t const last = std::min(from_front(last_asked, elements), static_cast<std::int64_t>(elements.size()) - 1);
  if (first > last) return c.reply.array(0);
  c.reply.array(static_cast<std::size_t>(last - first + 1));
  std::for_each(elements.begin() + first, elements.begin() + last + 1, [&](std::string const& e) { c.reply.bulk(e); });
}

void lindex(call& c) {
  key const name(c.args[1]);
  auto shards = c.db.lock(name);
  list const* const elements = shards.find_list(name);
  if (elements == nullptr) return c.reply.null();
  auto const index = static_cast<std::size_t>(from_front(integer_of(c.args[2]), *elements));
  index < elements->size() ? c.reply.bulk((*elements)[index]) : c.reply.null();
}

void blpop(call& c) { blocking_pop(c, list_end::left); }
void brpop(call& c) { blocking_pop(c, list_end::right); }

constexpr std::array commands{
    command{"LPUSH", -3, lpush},  command{"RPUSH", -3, rpush}, command{"LPOP", -2, lpop},
    command{"RPOP", -2, rpop},    command{"LLEN", 2, llen},    command{"LRANGE", 4, lrange},
    command{"LINDEX", 3, lindex}, command{"BLPOP", -3, blpop}, command{"BRPOP", -3, brpop},
};

}  // namespace

std::span<command const> list_commands() { return commands; }

}  // namespace kv

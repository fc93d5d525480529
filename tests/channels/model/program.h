// A small program of goroutines and channels, and its text.
//
//   0,2|s0 r1 y|[r0 s1] c0|{rn s1} t0 u1     channels 0 and 1 with capacities 0 and 2; three goroutines
//
// s is send, r receive, c close, t try_send, u try_recv, y yield. [..] is a select, {..} a select with an `otherwise`,
// and n is a nil channel. Every send has a value of its own, which names the goroutine, the operation and the case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace thrum::test::chan_model {

inline constexpr int nil = -1;

enum class verb : std::uint8_t { send, recv, close, try_send, try_recv, yield, select, select_or_not };

struct choice {  // one case of a select; any other operation has exactly one
  bool sends = false;
  int on = nil;
  bool operator==(choice const&) const = default;
};

struct operation {
  verb what = verb::yield;
  std::vector<choice> cases;
  bool operator==(operation const&) const = default;

  [[nodiscard]] bool is_select() const { return what == verb::select || what == verb::select_or_not; }
  [[nodiscard]] bool may_wait() const { return what == verb::send || what == verb::recv || what == verb::select; }
};

struct program {
  std::vector<std::size_t> capacities;
  std::vector<std::vector<operation>> goroutines;
  bool operator==(program const&) const = default;
};

// The value that case k of operation i of goroutine g sends.
inline int value_of(std::size_t g, std::size_t i, std::size_t k) { return static_cast<int>(g * 10'000 + i * 100 + k); }

// --- text ---

inline std::string text_of(choice const& c, char letter) {
  return letter + (c.on == nil ? std::string("n") : std::to_string(c.on));
}

inline std::string text_of(operation const& op) {
  if (op.what == verb::yield) return "y";
  if (!op.is_select()) return text_of(op.cases.front(), "srctu"[static_cast<std::size_t>(op.what)]);
  std::string text = op.what == verb::select ? "[" : "{";
  for (std::size_t k = 0; k < op.cases.size(); ++k) {
    text += (k == 0 ? "" : " ") + text_of(op.cases[k], op.cases[k].sends ? 's' : 'r');
  }
  return text + (op.what == verb::select ? "]" : "}");
}

inline std::string text_of(program const& p) {
  std::string text;
  for (std::size_t i = 0; i < p.capacities.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(p.capacities[i]);
  for (auto const& body : p.goroutines) {
    text += "|";
    for (std::size_t i = 0; i < body.size(); ++i) text += (i == 0 ? "" : " ") + text_of(body[i]);
  }
  return text;
}

class program_reader {
 public:
  explicit program_reader(std::string const& text) : in_(text) {}

  program read() {
    program p;
    for (std::size_t capacity = 0; in_ >> capacity;) {
      p.capacities.push_back(capacity);
      if (in_.peek() != ',') break;
      in_.get();
    }
    in_.clear();
    channels_ = static_cast<int>(p.capacities.size());
    while (skip('|')) {
      auto& body = p.goroutines.emplace_back();
      for (;;) {
        int const next = (in_ >> std::ws).peek();
        if (next == '|' || next == EOF) break;
        body.push_back(read_operation());
      }
      in_.clear();
    }
    if ((in_ >> std::ws).peek() != EOF) wrong();
    return p;
  }

 private:
  [[noreturn]] void wrong() {
    in_.clear();
    throw std::invalid_argument("not a program, from position " + std::to_string(in_.tellg()));
  }
  bool skip(char expected) {
    if ((in_ >> std::ws).peek() != expected) return false;
    in_.get();
    return true;
  }
  int read_channel() {
    if (skip('n')) return nil;
    int on = nil;
    if (!(in_ >> on) || on < 0 || on >= channels_) wrong();
    return on;
  }
  choice read_choice() {
    if (skip('s')) return {true, read_channel()};
    if (skip('r')) return {false, read_channel()};
    wrong();
  }
  operation read_operation() {
    if (skip('y')) return {};
    if (skip('s')) return {verb::send, {{true, read_channel()}}};
    if (skip('r')) return {verb::recv, {{false, read_channel()}}};
    if (skip('c')) return {verb::close, {{false, read_channel()}}};
    if (skip('t')) return {verb::try_send, {{true, read_channel()}}};
    if (skip('u')) return {verb::try_recv, {{false, read_channel()}}};
    for (bool const waits : {true, false}) {
      if (!skip(waits ? '[' : '{')) continue;
      operation op{waits ? verb::select : verb::select_or_not, {}};
      while (!skip(waits ? ']' : '}')) op.cases.push_back(read_choice());
      return op;
    }
    wrong();
  }

  std::istringstream in_;
  int channels_ = 0;
};

// Throws std::invalid_argument.
inline program program_of(std::string const& text) { return program_reader(text).read(); }

// --- what came of it ---

enum class outcome : std::uint8_t {
  sent,
  received,
  closed,       // received nothing, or close() did it
  would_block,  // of the try forms; the `otherwise` of a select
  threw,        // channel_closed
};

struct event {
  outcome what = outcome::would_block;
  int chosen = 0;  // the case, if the operation was a select that did not throw
  int value = 0;   // if received
  // With tickets: drawn from one counter before and after the operation. What ended before another began came first.
  std::uint64_t began = 0;
  std::uint64_t ended = 0;
};

// What each goroutine had completed when no goroutine could continue. If a goroutine has not reached its end, its next
// operation waits.
using history = std::vector<std::vector<event>>;

inline std::string text_of(event const& e) {
  char const* const names[] = {"sent", "received", "closed", "would block", "threw"};
  std::string text = names[static_cast<std::size_t>(e.what)];
  if (e.what == outcome::received) text += " " + std::to_string(e.value);
  return text + " by case " + std::to_string(e.chosen) +
         (e.ended == 0 ? "" : " @" + std::to_string(e.began) + "-" + std::to_string(e.ended));
}

inline std::string text_of(program const& p, history const& h) {
  std::string text;
  for (std::size_t g = 0; g < h.size(); ++g) {
    text += "goroutine " + std::to_string(g) + ":\n";
    for (std::size_t i = 0; i < p.goroutines[g].size(); ++i) {
      text += "  " + text_of(p.goroutines[g][i]) + ": " + (i < h[g].size() ? text_of(h[g][i]) : "waits") + "\n";
      if (i >= h[g].size()) break;
    }
  }
  return text;
}

}  // namespace thrum::test::chan_model

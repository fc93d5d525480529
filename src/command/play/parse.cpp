#include "command/play/parse.h"

#include "command/play/tokens.h"
#include "command/play/values.h"
#include "command/trace/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace thrum::command {
namespace {

struct verb_word {
  std::string_view word;
  verb what;
};
constexpr std::array<verb_word, 11> verbs{{{"go", verb::go},
                                           {"send", verb::send},
                                           {"recv", verb::recv},
                                           {"close", verb::close},
                                           {"lock", verb::lock},
                                           {"spin", verb::spin},
                                           {"sleep", verb::sleep},
                                           {"syscall", verb::syscall},
                                           {"yield", verb::yield},
                                           {"block", verb::block},
                                           {"repeat", verb::repeat}}};

[[noreturn]] void refuse(token const& found, std::string expected, char const* remedy) {
  expected.insert(0, "expected ");
  expected += ", found ";
  expected += quoted(found);
  expected += "; ";
  expected += remedy;
  throw scenario_error(found.at, expected);
}

// The names of one kind of things. A name may be used before it is declared.
class name_table {
 public:
  name_table(char const* what, char const* declaration) : what_(what), declaration_(declaration) {}

  std::size_t use(token const& name) {
    if (!is_name(name)) {
      refuse(name, std::string("the name of a ") + what_,
             "a name has at most 32 letters, digits, - and _, and begins with a letter or _");
    }
    auto const found =
        std::find_if(all_.begin(), all_.end(), [&](entry const& each) { return each.text == name.text; });
    if (found != all_.end()) return static_cast<std::size_t>(found - all_.begin());
    if (all_.size() == scenario_names_max) refuse(name, "at most 64 names of this kind", "remove one");
    all_.push_back({name.text, name, false});
    return all_.size() - 1;
  }

  std::size_t declare(token const& name) {
    std::size_t const index = use(name);
    if (std::exchange(all_[index].is_declared, true)) {
      refuse(name, "a new name", "this one is declared already, so choose another one");
    }
    return index;
  }

  void check() const {
    for (entry const& each : all_) {
      if (!each.is_declared)
        refuse(each.first, std::string("the name of a ") + what_, text("declare it: %s", declaration_).c_str());
    }
  }

 private:
  struct entry {
    std::string_view text;
    token first;
    bool is_declared;
  };
  char const* what_;
  char const* declaration_;
  std::vector<entry> all_{};
};

class parser {
 public:
  explicit parser(std::string_view text) : tokens_(tokens_of(text)) { made_.lines = lines_of(text); }

  scenario take() {
    for (skip_separators(); now().kind != token_kind::end; skip_separators()) {
      item();
      end_statement(within::file);
    }
    if (made_.starts.empty()) refuse(now(), "a goroutine", "write one: go main { spin 1ms }");
    bodies_.check();
    channels_.check();
    mutexes_.check();
    return std::move(made_);
  }

 private:
  enum class within : std::uint8_t { file, block };

  [[nodiscard]] token const& now() const { return tokens_[at_]; }
  // The end of the text is never passed.
  token const& next() { return now().kind == token_kind::end ? now() : tokens_[at_++]; }
  void skip_separators() {
    while (now().kind == token_kind::separator) ++at_;
  }
  // Where the text ends too early, the caller says which block is not closed.
  void end_statement(within where) const {
    token_kind const kind = now().kind;
    if (kind == token_kind::separator || kind == token_kind::end) return;
    if (where == within::block && kind == token_kind::close) return;
    refuse(now(), "the end of the statement", "end the line, or write a semicolon");
  }
  [[nodiscard]] bool is_followed_by_value() const { return now().kind == token_kind::word; }

  // --- what stands outside of goroutines ---

  void item() {
    token const& word = next();
    if (word.text == "procs") return set(word, procs_are_set_, made_.procs, 1, scenario_procs_max);
    if (word.text == "queue") {
      token const& value = now();
      set(word, queue_is_set_, made_.queue, scenario_queue_min, scenario_queue_max);
      if ((made_.queue & (made_.queue - 1)) != 0)
        refuse(value, "the size of a run queue", "write a power of two: 4, 8, 16, 32, 64, 128 or 256");
      return;
    }
    if (word.text == "limit") {
      set_once(word, limit_is_set_);
      made_.limit = duration_in(next(), "the time that the scenario may take", scenario_limit_max);
      return;
    }
    if (word.text == "channel") {
      token const& name = next();
      put(made_.channels, channels_.declare(name)) = {std::string(name.text), 0};
      if (is_followed_by_value())
        made_.channels[channels_.use(name)].capacity = number_in(next(), "its capacity", 0, scenario_capacity_max);
      return;
    }
    if (word.text == "mutex") {
      token const& name = next();
      put(made_.mutexes, mutexes_.declare(name)) = name.text;
      return;
    }
    if (word.text == "go") return definition_or_start();
    refuse(word, "a setting or a goroutine", "write procs, queue, limit, channel, mutex or go");
  }

  static void set_once(token const& word, bool& is_set) {
    if (std::exchange(is_set, true))
      refuse(word, "another setting", "this one is set already, so remove one of the two");
  }

  void set(token const& word, bool& is_set, int& value, int min, int max) {
    set_once(word, is_set);
    value = number_in(next(), word.text == "procs" ? "the number of Ps" : "the size of a run queue", min, max);
  }

  template <class T>
  static T& put(std::vector<T>& all, std::size_t index) {
    if (all.size() <= index) all.resize(index + 1);
    return all[index];
  }

  void definition_or_start() {
    token const name = next();
    start made{bodies_.use(name), 1};
    bool const has_count = is_count(now());
    token const count = has_count ? next() : token{};
    if (now().kind == token_kind::open) {
      if (has_count) made.count = count_in(count, 0);
      static_cast<void>(bodies_.declare(name));
      body its{std::string(name.text), {}};
      its.statements = block(1);
      put(made_.bodies, made.body) = std::move(its);
    } else if (has_count) {
      made.count = count_in(count, 1);
    }
    starts_ += made.count;
    if (starts_ > scenario_goroutines_max) {
      refuse(name, text("at most %d goroutines", scenario_goroutines_max), "start fewer");
    }
    if (made.count > 0) made_.starts.push_back(made);
  }

  // --- what goroutines do ---

  std::vector<statement> block(int depth) {
    token const& opening = next();
    if (opening.kind != token_kind::open) refuse(opening, "\"{\"", "a block stands between { and }");
    if (depth > scenario_depth_max) {
      refuse(opening, text("at most %d blocks in each other", scenario_depth_max), "take one out");
    }
    std::vector<statement> all;
    for (skip_separators(); now().kind != token_kind::close; skip_separators()) {
      if (now().kind == token_kind::end) {
        refuse(now(), "\"}\"", text("the block that begins at line %d is not closed", opening.at.line).c_str());
      }
      all.push_back(one(depth));
      end_statement(within::block);
    }
    ++at_;
    return all;
  }

  statement one(int depth) {
    token const& word = next();
    auto const found =
        std::find_if(verbs.begin(), verbs.end(), [&](verb_word const& each) { return each.word == word.text; });
    if (found == verbs.end()) {
      refuse(word, "a statement", "write go, send, recv, close, lock, spin, sleep, syscall, yield, block or repeat");
    }
    statement made;
    made.what = found->what;
    made.at = word.at;
    std::size_t const first = at_ - 1;
    arguments(made);
    made.text = text_from(first);
    if (made.what == verb::lock || made.what == verb::repeat) made.block = block(depth + 1);
    return made;
  }

  void arguments(statement& made) {
    switch (made.what) {
      case verb::go:
        made.target = bodies_.use(next());
        if (is_followed_by_value()) {
          if (!is_count(now())) refuse(now(), "the number of goroutines", "write x and a number, such as x3");
          made.count = count_in(next(), 1);
        }
        break;
      case verb::send:
      case verb::recv:
      case verb::close: made.target = channels_.use(next()); break;
      case verb::lock: made.target = mutexes_.use(next()); break;
      case verb::spin:
      case verb::sleep: made.duration = duration_in(next(), "a duration", scenario_duration_max); break;
      case verb::syscall:
        made.duration = duration_in(next(), "a duration", scenario_duration_max);
        if (is_followed_by_value()) made.call = kind_of_call(next());
        break;
      case verb::repeat: made.count = number_in(next(), "how often", 1, scenario_rounds_max); break;
      case verb::yield:
      case verb::block: break;
    }
  }

  static call_kind kind_of_call(token const& word) {
    if (word.text == "short") return call_kind::may_be_short;
    if (word.text == "long") return call_kind::long_call;
    if (word.text == "unannounced") return call_kind::unannounced;
    refuse(word, "the kind of the call", "write short, long or unannounced, or nothing");
  }

  [[nodiscard]] std::string text_from(std::size_t first) const {
    std::string made;
    for (std::size_t i = first; i < at_; ++i) {
      if (i != first) made += ' ';
      made += tokens_[i].text;
    }
    return made;
  }

  std::vector<token> tokens_;
  std::size_t at_ = 0;
  scenario made_{};
  name_table bodies_{"goroutine", "go NAME { ... }"};
  name_table channels_{"channel", "channel NAME"};
  name_table mutexes_{"mutex", "mutex NAME"};
  bool procs_are_set_ = false;
  bool queue_is_set_ = false;
  bool limit_is_set_ = false;
  int starts_ = 0;
};

}  // namespace

scenario parse_scenario(std::string_view text) { return parser(text).take(); }

}  // namespace thrum::command

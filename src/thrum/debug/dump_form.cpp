#include "debug/dump_form.h"

#include "base/atomic.h"

#include <algorithm>

namespace thrum::rt {
namespace {

constinit atomic<dump_view> view_of_reports{dump_view::automatic};
constinit atomic<bool> reports_are_json{false};

bool read_word(std::string_view word, dump_form& form) noexcept {
  if (word == "json" || word == "text") {
    form.is_json = word == "json";
  } else if (word == "each") {
    form.view = dump_view::each;
  } else if (word == "grouped") {
    form.view = dump_view::grouped;
  } else if (word == "leaks") {
    form.view = dump_view::leaks;
  } else if (word == "automatic") {
    form.view = dump_view::automatic;
  } else {
    return word.empty();
  }
  return true;
}

}  // namespace

bool parse_dump_form(std::string_view words, dump_form& form) noexcept {
  dump_form read;
  while (!words.empty()) {
    std::size_t const end = std::min(words.find_first_of(" +"), words.size());
    if (!read_word(words.substr(0, end), read)) return false;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  form = read;
  return true;
}

// relaxed: it is set while a run starts, before there is anything to report
void set_form_of_reports(dump_form form) noexcept {
  view_of_reports.store(form.view, relaxed);
  reports_are_json.store(form.is_json, relaxed);
}

dump_form form_of_reports() noexcept { return {view_of_reports.load(relaxed), reports_are_json.load(relaxed)}; }

}  // namespace thrum::rt

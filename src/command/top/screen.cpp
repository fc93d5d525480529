#include "command/top/screen.h"

#include "command/exit_codes.h"

#include <algorithm>
#include <chrono>
#include <clocale>
#include <cstddef>
#include <string>
#include <vector>

// Otherwise the macros of curses.h replace common words, such as `timeout` and `scroll`.
#define NCURSES_NOMACROS  // NOLINT(readability-identifier-naming)
#include <curses.h>
#include <unistd.h>

namespace thrum::command {
namespace {

using clock = std::chrono::steady_clock;

constexpr double seconds_min = 0.1;
constexpr double seconds_max = 60;
constexpr int escape_key = 27;
constexpr char const* keys = "q quit   s sort   / search   p Ps   space hold   + - speed   arrows, page keys scroll";

// The terminal is as it was before when this goes, also by an exception.
class terminal {
 public:
  terminal() {
    std::setlocale(LC_CTYPE, "");
    if (::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0)
      throw target_error("top needs a terminal; `thrum top --once` prints one look as text");
    if (::newterm(nullptr, stdout, stdin) == nullptr)
      throw target_error("top does not know this terminal; is TERM set? `thrum top --once` prints one look as text");
    ::cbreak();
    ::noecho();
    ::keypad(stdscr, TRUE);
    ::curs_set(0);
  }
  ~terminal() { ::endwin(); }
  terminal(terminal const&) = delete;
  terminal& operator=(terminal const&) = delete;
};

class screen {
 public:
  screen(top_source& source, double seconds) : source_(source), view_(source.name()), seconds_(seconds) {}

  void show_until_the_user_ends_it() {
    for (auto next = clock::now(); !is_over_;) {
      if (clock::now() >= next && !holds_) {
        source_.refresh(view_);
        next = clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds_));
      }
      draw();
      auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(next - clock::now()).count();
      ::timeout(holds_ ? -1 : static_cast<int>(std::clamp<long>(left, 0, 60'000)));
      for (int key = ::getch(); key != ERR; key = ::getch()) {
        take(key);
        ::timeout(0);
      }
    }
  }

 private:
  void draw() {
    ::erase();
    auto const rows = static_cast<std::size_t>(std::max(LINES - 1, 0));
    std::vector<top_line> const lines = view_.lines(rows, static_cast<std::size_t>(std::max(COLS, 1)));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      attr_t const how = lines[i].as == top_line::look::title     ? A_BOLD
                         : lines[i].as == top_line::look::heading ? A_REVERSE
                                                                  : A_NORMAL;
      ::attrset(static_cast<int>(how));
      ::mvaddnstr(static_cast<int>(i), 0, lines[i].text.c_str(), -1);
    }
    ::attrset(static_cast<int>(A_NORMAL));
    std::string const below = searches_ ? "search: " + view_.search() + '_'
                              : holds_  ? "HOLD   " + std::string(keys)
                                        : keys;
    ::mvaddnstr(LINES - 1, 0, below.c_str(), std::max(COLS - 1, 0));
    ::refresh();
  }

  void take(int key) {
    if (searches_) return take_search(key);
    long const page = std::max(LINES / 2, 1);
    switch (key) {
      case 'q':
      case 'Q': is_over_ = true; break;
      case 's': view_.set_order(next(view_.order())); break;
      case '/': searches_ = true; break;
      case 'p': view_.show_ps(!view_.shows_ps()); break;
      case ' ': holds_ = !holds_; break;
      case '+': seconds_ = std::max(seconds_ / 2, seconds_min); break;
      case '-': seconds_ = std::min(seconds_ * 2, seconds_max); break;
      case KEY_DOWN: view_.scroll(1); break;
      case KEY_UP: view_.scroll(-1); break;
      case KEY_NPAGE: view_.scroll(page); break;
      case KEY_PPAGE: view_.scroll(-page); break;
      default: break;
    }
  }

  void take_search(int key) {
    std::string text = view_.search();
    if (key == '\n' || key == '\r' || key == KEY_ENTER) {
      searches_ = false;
    } else if (key == escape_key) {
      searches_ = false;
      text.clear();
    } else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
      if (!text.empty()) text.pop_back();
    } else if (key >= ' ' && key < 127) {
      text += static_cast<char>(key);
    }
    view_.set_search(std::move(text));
  }

  top_source& source_;
  top_view view_;
  double seconds_;
  bool searches_ = false;
  bool holds_ = false;
  bool is_over_ = false;
};

}  // namespace

int show_on_terminal(top_source& source, double seconds) {
  terminal const raw;
  screen(source, seconds).show_until_the_user_ends_it();
  return fine;
}

}  // namespace thrum::command

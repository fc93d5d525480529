#include "screen.h"

#include "text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <sys/ioctl.h>
#include <unistd.h>

namespace tour {
namespace {

// Beyond this a line is hard to read; below it even wrapped text falls apart.
constexpr std::size_t columns_max = 100;
constexpr std::size_t columns_min = 40;

std::string const indent(screen::margin, ' ');

std::string_view environment(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::size_t terminal_columns() {
  winsize size{};
  // 80 also for a file, and for a terminal that does not know (its answer is 0).
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return std::clamp<std::size_t>(size.ws_col, columns_min, columns_max);
}

char const* escape_of(ink colour) {
  switch (colour) {
    case ink::bold: return "\033[1m";
    case ink::faint: return "\033[2m";
    case ink::cyan: return "\033[36m";
    case ink::green: return "\033[32m";
    case ink::yellow: return "\033[33m";
    case ink::blue: return "\033[34m";
  }
  return "";
}

// Flushes the text at once, so that the user sees it when it happens.
void write(std::string const& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw std::system_error(errno, std::generic_category(), "standard output");
  }
}

}  // namespace

screen::screen()
    : columns_(terminal_columns()),
      redraws_(::isatty(STDOUT_FILENO) != 0 && environment("TERM") != "dumb"),
      coloured_(redraws_ && environment("NO_COLOR").empty()) {}

std::string screen::painted(ink colour, std::string_view text) const {
  if (!coloured_) return std::string(text);
  return std::string(escape_of(colour)).append(text).append("\033[0m");
}

void screen::line(std::string_view text) { write((text.empty() ? "" : indent) + std::string(text) + "\n"); }

void screen::heading(std::string_view number, std::string_view title, std::string_view remark) {
  std::string text = painted(ink::cyan, pad_right(number, margin));
  if (remark.empty()) {
    text += painted(ink::bold, title);
  } else {
    std::size_t const left = margin + columns_of(remark);
    text += painted(ink::bold, pad_right(title, columns_ - std::min(columns_, left))) + painted(ink::faint, remark);
  }
  write("\n" + text + "\n");
}

void screen::sentence(std::string_view text) {
  for (std::string const& each : wrapped(text, columns_ - margin)) line(each);
}

void screen::progress(std::uint64_t done, std::uint64_t all, std::string_view what) {
  bool const complete = done >= all;
  if (!complete && !redraws_) return;
  std::string const caption = "  " + pad_left(with_commas(done), with_commas(all).size()) + " " + std::string(what);
  // One column stays free: a terminal may go to the next line as soon as this one is full.
  std::size_t const width = columns_ - std::min(columns_, margin + columns_of(caption) + 1);
  std::size_t const filled = complete ? width : static_cast<std::size_t>(width * done / all);
  write((redraws_ ? "\r" : "") + indent + painted(ink::green, repeated("█", filled)) +
        painted(ink::faint, repeated("░", width - filled)) + caption + (complete ? "\n" : ""));
}

}  // namespace tour

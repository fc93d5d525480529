// /file/: serves the files below a directory, and nothing else. The path is opened name by name, each relative to the
// directory before it. No name may be "..", contain a slash or be a symbolic link. So a request never leaves the tree,
// even if other programs change the tree meanwhile.
#include "byte_range.h"
#include "handlers.h"
#include <thrum/blocking.h>

#include <array>
#include <cerrno>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

namespace http {

namespace {

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Returns nothing if the text is malformed.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (text.size() - i < 3) return std::nullopt;
      int const high = digit_of(text[i + 1]);
      int const low = digit_of(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    decoded += c;
  }
  return decoded;
}

struct named_path {
  int refusal = 0;
  std::vector<std::string> names;
};

named_path names_in(std::string_view path) {
  named_path found;
  while (!path.empty() && found.refusal == 0) {
    std::string_view const part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    auto name = percent_decoded(part);
    if (!name || name->find('/') != std::string::npos) {
      found.refusal = 400;
    } else if (*name == "..") {
      found.refusal = 403;
    } else if (!name->empty() && *name != ".") {
      found.names.push_back(*std::move(name));
    }
  }
  return found;
}

struct opened_file {
  descriptor file;
  struct stat about {};
  int error = 0;
};

opened_file open_below(descriptor const& root, std::vector<std::string> const& names) {
  opened_file opened;
  descriptor directory;
  for (std::size_t i = 0; i < names.size(); ++i) {
    bool const is_last = i + 1 == names.size();
    // O_NONBLOCK, because opening a pipe without a writer would block the thread for good.
    int const flags = is_last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY;
    int const below = directory ? directory.number() : root.number();
    descriptor next(::openat(below, names[i].c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    if (!next) {
      opened.error = errno;
      return opened;
    }
    (is_last ? opened.file : directory) = std::move(next);
  }
  if (!opened.file || ::fstat(opened.file.number(), &opened.about) != 0) opened.error = opened.file ? errno : EISDIR;
  return opened;
}

int status_of(opened_file const& opened) noexcept {
  switch (opened.error) {
    case 0: return S_ISREG(opened.about.st_mode) ? 200 : 403;
    case ENOENT:
    case ENOTDIR:  // also a symbolic link where a directory is expected
    case ENAMETOOLONG: return 404;
    case EMFILE:
    case ENFILE: return 503;
    default: return 403;
  }
}

std::string_view type_of(std::string_view name) noexcept {
  struct known {
    std::string_view end;
    std::string_view type;
  };
  static constexpr std::array types{
      known{".html", "text/html; charset=utf-8"},
      known{".txt", "text/plain; charset=utf-8"},
      known{".css", "text/css"},
      known{".js", "text/javascript"},
      known{".json", "application/json"},
      known{".svg", "image/svg+xml"},
      known{".png", "image/png"},
      known{".jpg", "image/jpeg"},
  };
  for (auto const& [end, type] : types) {
    if (name.ends_with(end)) return type;
  }
  return "application/octet-stream";
}

}  // namespace

response serve_file(request& asked, site const& of) {
  auto const [refusal, names] = names_in(asked.path.substr(std::string_view("/file/").size()));
  if (refusal != 0) return plain_status(refusal);
  if (!of.root) return plain_status(404);
  opened_file opened = thrum::blocking([&of, &list = names] { return open_below(of.root, list); });
  int const status = status_of(opened);
  if (status != 200) return plain_status(status);

  auto const size = static_cast<std::uint64_t>(opened.about.st_size);
  // If-Range compares with a validator of the file's state, and this server gives out none.
  bool const may_be_part = asked.method == method::get && asked.header_value("if-range").empty();
  byte_range range = may_be_part ? range_in(asked.header_value("range"), size) : byte_range{};
  if (range.what == byte_range::kind::unsatisfiable) {
    response refused = plain_status(416);
    refused.headers = "Content-Range: bytes */" + std::to_string(size) + "\r\n";
    return refused;
  }
  response made;
  made.content_type = type_of(names.back());
  made.headers = "Accept-Ranges: bytes\r\n";
  if (range.what == byte_range::kind::part) {
    made.status = 206;
    made.headers += "Content-Range: bytes " + std::to_string(range.offset) + '-' +
                    std::to_string(range.offset + range.bytes - 1) + '/' + std::to_string(size) + "\r\n";
  } else {
    range.bytes = size;
  }
  made.file = {std::move(opened.file), static_cast<std::int64_t>(range.offset), range.bytes};
  return made;
}

}  // namespace http

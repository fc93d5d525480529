// The messages of the exceptions that calls on descriptors, files and names throw. A message names the call and its
// object, and ends with the system's text for the error.
#include "base/never_destroyed.h"
#include "net/io_call.h"
#include "os/files.h"
#include "os/socket.h"
#include <thrum/endpoint.h>
#include <thrum/fd.h>
#include <thrum/io_error.h>

#include <array>
#include <string>

namespace thrum {
namespace {

using namespace rt;

// Replaces control characters by \xNN, so that the text can be written to a log. The text may come from another
// program, for example as a host name that a peer has sent.
std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string all;
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      all += c;
    } else {
      all += "\\x";
      all += digits[byte >> 4U];
      all += digits[byte & 15U];
    }
  }
  return all;
}

std::string path_behind(int descriptor) {
  std::array<char, 256> path{};
  long const bytes = os::path_of_descriptor(descriptor, path.data(), path.size());
  return bytes > 0 ? printable({path.data(), static_cast<std::size_t>(bytes)}) : std::string();
}

template <class Ask>
std::string address_of(int descriptor, Ask ask) {
  endpoint at;
  std::uint32_t bytes = endpoint::capacity();
  if (ask(descriptor, at.data(), bytes) < 0) return {};
  at.resize(bytes);
  return printable(at.to_string());
}

char const* network_of(int descriptor) noexcept {
  int family = 0;
  if (os::get_option(descriptor, SOL_SOCKET, SO_DOMAIN, family) < 0) return nullptr;
  if (family == AF_UNIX) return "unix";
  if (family != AF_INET && family != AF_INET6) return "socket";
  return os::socket_type(descriptor) == SOCK_DGRAM ? "udp" : "tcp";
}

std::string object_behind(int descriptor) {
  char const* const network = network_of(descriptor);
  if (network == nullptr) return path_behind(descriptor);
  std::string text = network;
  std::string const here = address_of(descriptor, os::local_address);
  std::string const there = address_of(descriptor, os::peer_address);
  if (!here.empty() || !there.empty()) text += ' ' + here;
  return there.empty() ? text : text + "->" + there;
}

[[noreturn]] void throw_with(std::error_code const& error, char const* call, std::string const& object) {
  throw std::system_error(error, std::string("thrum: ") + call + (object.empty() ? "" : " ") + object);
}

class io_errors final : public std::error_category {
 public:
  [[nodiscard]] char const* name() const noexcept override { return "thrum.io"; }
  [[nodiscard]] std::string message(int code) const override {
    return code == static_cast<int>(io_errc::unexpected_end) ? "the stream ended before all requested bytes were read"
                                                             : "unknown error";
  }
};

constinit rt::never_destroyed<io_errors> the_category;

}  // namespace

std::error_category const& io_category() noexcept { return the_category.value; }

namespace detail {

void throw_io_error(std::error_code const& error, char const* call) { throw_with(error, call, {}); }

void throw_io_error(std::error_code const& error, call_to const& call) {
  throw_with(error, call.call, printable(call.object));
}

void throw_io_error(std::error_code const& error, call_to_endpoint const& call) {
  throw_with(error, call.call, printable(call.object.to_string()));
}

void throw_io_error(std::error_code const& error, call_on const& call) {
  std::error_code ignored;
  short_use const open(call.object.desc_, ignored);  // without it the number might belong to another file
  throw_with(error, call.call, open ? object_behind(open->fd) : std::string());
}

void throw_io_error(std::error_code const& error, call_on_descriptor const& call) {
  throw_with(error, call.call, object_behind(call.object));
}

}  // namespace detail
}  // namespace thrum

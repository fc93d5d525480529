// thrum::process (thrum/process.h): starting a child process with its three standard streams. Waiting for the child is
// in net/child.cpp.
#include "net/address.h"
#include "net/child.h"
#include "net/io_call.h"
#include "os/socket.h"
#include <thrum/blocking.h>
#include <thrum/go.h>
#include <thrum/process.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <utility>

namespace thrum {

namespace os = rt::os;
using rt::system_error_of;

namespace {

// Owns a descriptor and closes it at the end of the scope, unless let_go was called.
class held_descriptor {
 public:
  held_descriptor() noexcept = default;
  ~held_descriptor() { set(-1); }
  held_descriptor(held_descriptor const&) = delete;
  held_descriptor& operator=(held_descriptor const&) = delete;

  void set(int number) noexcept {
    if (number_ >= 0) os::close(number_);
    number_ = number;
  }
  [[nodiscard]] int get() const noexcept { return number_; }
  void let_go() noexcept { number_ = -1; }

 private:
  int number_ = -1;
};

// Makes both ends of the three standard streams. Its destructor closes the child's ends, because the child has its own
// copies by then.
class stream_maker {
 public:
  [[nodiscard]] int make(std::size_t which, child_stream const& wanted, fd& ours) noexcept {
    if (auto const number = wanted.descriptor()) return *number < 0 ? EBADF : keep_clear(which, *number);
    switch (wanted.what()) {
      case stdio::inherited: for_child[which] = os::child_stream_is::inherited; return 0;
      case stdio::null: for_child[which] = os::child_stream_is::null_device; return 0;
      case stdio::as_output: for_child[which] = os::child_stream_is::as_output; return which == 2 ? 0 : EINVAL;
      case stdio::pipe: return make_pipe(which, ours);
    }
    return EINVAL;
  }

  int for_child[3]{};

 private:
  // The child replaces its descriptors 0, 1 and 2 one after another. So a descriptor with one of these numbers is
  // duplicated to a higher number first; otherwise it could be replaced before it is used.
  int keep_clear(std::size_t which, int number) noexcept {
    for_child[which] = number;
    if (number > 2) return 0;
    int const copy = os::duplicate(number);
    if (copy < 0) return -copy;
    held_[which].set(copy);
    for_child[which] = copy;
    return 0;
  }

  int make_pipe(std::size_t which, fd& ours) noexcept {
    int ends[2]{};
    if (int const failed = blocking([&] { return os::open_blocking_pipe(ends); })) return -failed;
    bool const child_reads = which == 0;
    held_descriptor our_end;
    our_end.set(ends[child_reads ? 1 : 0]);
    held_[which].set(ends[child_reads ? 0 : 1]);
    std::error_code error;
    ours = fd(our_end.get(), error);
    if (error) return error.value();
    our_end.let_go();
    return keep_clear(which, held_[which].get());
  }

  std::array<held_descriptor, 3> held_;
};

// The list of pointers, with nullptr at the end, that exec takes.
std::vector<char*> pointers_to(std::vector<std::string> const& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (std::string const& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

std::string_view name_in(std::string_view variable) noexcept { return variable.substr(0, variable.find('=')); }

// If several variables have the same name, the last one counts.
void add_all(std::vector<std::string>& to, std::vector<std::string> const& variables) {
  for (std::string const& added : variables) {
    std::erase_if(to, [&](std::string const& old) { return name_in(old) == name_in(added); });
    to.push_back(added);
  }
}

std::vector<std::string> environment_of(process_options const& chosen) {
  std::vector<std::string> all;
  if (chosen.environment) {
    add_all(all, *chosen.environment);
  } else {
    for (char* const* each = os::whole_environment(); each != nullptr && *each != nullptr; ++each)
      all.emplace_back(*each);
  }
  add_all(all, chosen.extra_environment);
  return all;
}

// exec takes strings that end at the first NUL, so it would see only a part of such a word.
bool any_has_nul(std::vector<std::string> const& words) noexcept {
  return std::ranges::any_of(words, [](std::string const& word) { return rt::has_nul(word); });
}

}  // namespace

process process::start(std::vector<std::string> const& command, process_options const& chosen, std::error_code& error) {
  error.clear();
  auto const environment = environment_of(chosen);
  if (command.empty() || any_has_nul(command) || any_has_nul(environment) || rt::has_nul(chosen.directory)) {
    error = system_error_of(EINVAL);
    return {};
  }
  process made;
  stream_maker streams;
  std::array<child_stream const*, 3> const wanted{&chosen.in, &chosen.out, &chosen.err};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (int const failed = streams.make(i, *wanted[i], made.streams_[i])) {
      error = system_error_of(failed);
      return {};
    }
  }
  auto const arguments = pointers_to(command);
  auto const variables = pointers_to(environment);
  os::spawn_request const request{arguments.data(),
                                  variables.data(),
                                  chosen.directory.empty() ? nullptr : chosen.directory.c_str(),
                                  {streams.for_child[0], streams.for_child[1], streams.for_child[2]},
                                  chosen.close_descriptors};
  auto record = std::make_unique<detail::child>();  // allocated before the process exists, because it may throw
  int pidfd = -1;
  int const pid = blocking([&] {
    int const number = os::spawn(request);
    if (number >= 0) pidfd = os::open_pidfd(number);
    return number;
  });
  if (pid < 0) {
    error = system_error_of(-pid);
    return {};
  }
  record->was_started(pid, pidfd);
  made.child_.reset(record.release());
  return made;
}

int process::id() const noexcept { return child_ == nullptr ? 0 : child_->name.pid; }

std::optional<exit_status> process::try_wait(std::error_code& error) noexcept {
  if (child_ != nullptr) return child_->look(error);
  error = system_error_of(ECHILD);
  return {};
}

std::optional<exit_status> process::wait_until_ns(std::int64_t when_ns, context const* ctx, std::error_code& error) {
  if (child_ != nullptr) return child_->wait(when_ns, ctx, error);
  error = system_error_of(ECHILD);
  return {};
}

void process::kill(int signal, std::error_code& error) noexcept {
  if (child_ != nullptr) {
    child_->send(signal, error);
  } else {
    error = system_error_of(ECHILD);
  }
}

namespace detail {
namespace {

void collect(child& dropped) noexcept {
  try {
    std::error_code ignored;
    static_cast<void>(dropped.wait(for_ever_ns, nullptr, ignored));
  } catch (std::bad_alloc const&) {  // The system collects the child when this program ends.
  }
}

}  // namespace

void child_dropper::operator()(child* dropped) const noexcept {
  std::unique_ptr<child> own(dropped);
  std::error_code error;
  if (own->look(error) || error) return;
  try {
    go([mine = std::move(own)] { collect(*mine); });
  } catch (...) {  // There is no runtime or no memory. The system collects the child when this program ends.
  }
}

}  // namespace detail

}  // namespace thrum

// A blocking library on goroutines. The code in namespace `old` was written for threads and does not use thrum. The
// program links thrum::posix, so each of its calls parks a goroutine instead of blocking a thread.
//
//   example_posix_library     prints "200 clients had 600 questions answered, on few threads"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace old {

constexpr useconds_t thinks_for_us = 20'000;
constexpr int patience_ms = 60'000;

int check(int result, char const* what) {
  if (result < 0) throw std::runtime_error(what);
  return result;
}

sockaddr_in on_loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int dial(std::uint16_t port) {
  int const fd = check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in const to = on_loopback(port);
  check(::connect(fd, reinterpret_cast<sockaddr const*>(&to), sizeof to), "connect");
  return fd;
}

bool ask(int fd, std::string const& question) {
  if (::write(fd, question.data(), question.size()) != static_cast<ssize_t>(question.size())) return false;
  pollfd one{fd, POLLIN, 0};
  if (::poll(&one, 1, patience_ms) != 1) return false;
  std::string answer(question.size(), '\0');
  return ::recv(fd, answer.data(), answer.size(), MSG_WAITALL) == static_cast<ssize_t>(answer.size()) &&
         answer == question;
}

void answer_all(int fd) {
  char some[100];
  for (ssize_t n = 0; (n = ::read(fd, some, sizeof some)) > 0;) {
    ::usleep(thinks_for_us);
    if (::write(fd, some, static_cast<std::size_t>(n)) != n) break;
  }
  ::close(fd);
}

}  // namespace old

int main() {
  constexpr int clients = 200;
  constexpr int questions = 3;
  return thrum::run([] {
    int const listener = old::check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    sockaddr_in at = old::on_loopback(0);
    socklen_t bytes = sizeof at;
    old::check(::bind(listener, reinterpret_cast<sockaddr*>(&at), bytes), "bind");
    old::check(::listen(listener, clients), "listen");
    old::check(::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &bytes), "getsockname");

    thrum::wait_group all;
    all.go([&] {
      for (int i = 0; i < clients; ++i) {
        int const fd = old::check(::accept(listener, nullptr, nullptr), "accept");
        all.go([=] { old::answer_all(fd); });
      }
    });
    std::atomic<int> answered{0};
    for (int i = 0; i < clients; ++i) {
      all.go([&, i] {
        int const fd = old::dial(ntohs(at.sin_port));
        for (int n = 0; n < questions; ++n) answered += old::ask(fd, "client " + std::to_string(i)) ? 1 : 0;
        ::close(fd);
      });
    }
    all.wait();
    ::close(listener);
    // Each connection was answered by a goroutine of its own, which slept in usleep for each question.
    bool const on_few = thrum::num_threads() < clients / 2;
    std::printf("%d clients had %d questions answered, on %s threads\n", clients, answered.load(),
                on_few ? "few" : "many");
  });
}

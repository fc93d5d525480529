// An nginx of the test's own, on a port of loopback. It serves files of many lengths, slow answers, and some that are
// no valid answers.
#pragma once

#include "posix/server.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <netinet/in.h>
#include <sys/socket.h>

namespace thrum::test {

class nginx {
 public:
  static constexpr int files = 16;

  // Empty if it is not installed.
  static std::string program() {
    for (char const* const path : {"/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"}) {
      if (std::filesystem::exists(path)) return path;
    }
    return {};
  }

  nginx() {
    for (int i = 0; i < files; ++i) std::ofstream(folder_.path() + "/" + std::to_string(i)) << content(i);
    for (int tries = 0; tries < 3 && !is_up_; ++tries) {  // another process may have taken the port meanwhile
      port_ = free_port();
      write_configuration();
      server_.reset();
      server_ = std::make_unique<own_server>(
          std::vector<std::string>{program(), "-p", folder_.path(), "-c", configuration(), "-e", "stderr"}, log(),
          nullptr, SIGKILL);
      is_up_ = server_->comes_up([&] { return can_be_reached(); });
    }
  }
  nginx(nginx const&) = delete;
  nginx& operator=(nginx const&) = delete;

  [[nodiscard]] bool is_up() const { return is_up_; }
  [[nodiscard]] std::string said() const { return all_of(log()); }
  [[nodiscard]] std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }

  // Of file i: up to half a MiB.
  static std::string content(int i) {
    std::string text;
    for (int line = 0; line < 1 << i; ++line) text += std::to_string(i) + ": line " + std::to_string(line) + "\n";
    return text;
  }

 private:
  // In one process, so that it ends with a signal.
  void write_configuration() const {
    std::string const folder = folder_.path();
    std::ofstream out(configuration());
    out << "daemon off; master_process off; worker_rlimit_nofile 4096; events { worker_connections 2048; }\n"
        << "pid " << folder << "/pid; error_log stderr warn;\n"
        << "http { access_log off; default_type text/plain; root " << folder << ";\n";
    for (char const* const kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
      out << kind << "_temp_path " << folder << "/temp_" << kind << ";\n";
    }
    out << "server { listen 127.0.0.1:" << port_ << " backlog=2048;\n"
        << "location /slow/ { alias " << folder << "/; limit_rate 4k; limit_rate_after 1k; }\n"
        << "location /said { return 200 \"$request_method $args $http_x_word\"; }\n"
        << "location /moved { return 302 /said?by=a_redirect; }\n"
        << "location /refused { return 403 no; }\n"
        << "location /nothing { return 444; }\n"
        << "} }\n";
  }
  [[nodiscard]] bool can_be_reached() const {
    int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    bool const is_there = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return is_there;
  }
  [[nodiscard]] std::string configuration() const { return folder_.path() + "/nginx.conf"; }
  [[nodiscard]] std::string log() const { return folder_.path() + "/log"; }

  own_folder folder_;
  std::unique_ptr<own_server> server_;
  int port_ = 0;
  bool is_up_ = false;
};

}  // namespace thrum::test

// At the beginning of a test.
#define THRUM_WITH_NGINX(server)                                          \
  if (nginx::program().empty()) GTEST_SKIP() << "nginx is not installed"; \
  nginx const server;                                                     \
  ASSERT_TRUE((server).is_up()) << (server).said()

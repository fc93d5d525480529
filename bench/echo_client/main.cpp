// The fixed load of the echo workload: one thread with edge-triggered epoll, without a runtime.
//   echo_client <host> <port> <connections> <message_bytes> <seconds>
// Every connection keeps one request in flight and checks the answer. A warm-up of a tenth of <seconds> comes first.
// The latency of a request is measured from just before its first send() until its last byte is read. The histogram is
// logarithmic with 128 linear steps per power of two (under 1 % error).
#include <algorithm>
#include <vector>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}

struct Histogram {
  static constexpr int kBits = 7;  // 128 steps per power of two
  std::vector<uint64_t> count = std::vector<uint64_t>(64 << kBits);
  uint64_t total = 0, max = 0;
  static size_t index(uint64_t v) {
    if (v < (2u << kBits)) return v;
    int shift = 63 - __builtin_clzll(v) - kBits;
    return (size_t(shift) << kBits) + (v >> shift);
  }
  static uint64_t value(size_t i) {  // the middle of the step
    if (i < (2u << kBits)) return i;
    int shift = int(i >> kBits) - 1;
    return ((uint64_t(i & ((1u << kBits) - 1)) | (1u << kBits)) << shift) + ((uint64_t(1) << shift) >> 1);
  }
  void add(uint64_t v) { ++count[index(v)], ++total, max = std::max(max, v); }
  double us(double quantile) const {
    uint64_t rank = uint64_t(quantile * double(total)), seen = 0;
    for (size_t i = 0; i < count.size(); ++i)
      if ((seen += count[i]) > rank) return double(std::min(value(i), max)) / 1e3;
    return double(max) / 1e3;
  }
};

struct Conn {
  int fd;
  uint64_t start, served;
  size_t sent, received;
};

int main(int argc, char** argv) {
  if (argc != 6) return fprintf(stderr, "usage: %s host port connections message_bytes seconds\n", argv[0]), 2;
  const size_t nconn = strtoul(argv[3], nullptr, 10), bytes = std::max(8ul, strtoul(argv[4], nullptr, 10));
  const double seconds = atof(argv[5]);
  rlimit lim;
  getrlimit(RLIMIT_NOFILE, &lim);
  lim.rlim_cur = lim.rlim_max;
  setrlimit(RLIMIT_NOFILE, &lim);
  sockaddr_in addr{};
  addr.sin_family = AF_INET;
  addr.sin_port = htons(uint16_t(atoi(argv[2])));
  if (inet_pton(AF_INET, argv[1], &addr.sin_addr) != 1) return fprintf(stderr, "host must be an IPv4 address\n"), 2;

  int ep = epoll_create1(0);
  uint64_t errors = 0;
  std::vector<Conn> conns(nconn);
  for (size_t i = 0; i < nconn; ++i) {  // the connects block, so the server's backlog sets their pace
    Conn& c = conns[i] = {socket(AF_INET, SOCK_STREAM, 0), 0, 0, 0, 0};
    int one = 1;
    if (c.fd < 0 || connect(c.fd, reinterpret_cast<sockaddr*>(&addr), sizeof addr) != 0) {
      if (errors++ == 0) perror("connect");
      if (c.fd >= 0) close(c.fd);
      c.fd = -1;
      continue;
    }
    setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    epoll_event ev{};
    ev.events = EPOLLIN | EPOLLOUT | EPOLLET;
    ev.data.u64 = i;
    epoll_ctl(ep, EPOLL_CTL_ADD, c.fd, &ev);  // writable at once, so the first event sends the first request
  }

  std::vector<unsigned char> out(bytes), in(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = uint8_t(i);
  Histogram h;
  const uint64_t begin = now_ns(), measure = begin + uint64_t(seconds * 1e8), end = measure + uint64_t(seconds * 1e9);

  // Does everything that is possible on one connection. Returns false if the connection has failed.
  auto advance = [&](Conn& c, uint64_t id) {
    for (;;) {
      const uint64_t tag = id << 40 ^ c.served;  // the first 8 bytes identify the request
      while (c.sent < bytes) {
        if (c.sent == 0) c.start = now_ns();
        memcpy(out.data(), &tag, 8);
        ssize_t n = send(c.fd, out.data() + c.sent, bytes - c.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) return false;
        c.sent += size_t(n);
        if (c.sent == bytes && c.received == 0) return true;  // the answer has not come, so wait for its event
      }
      size_t got = c.received;
      while (c.received < bytes) {
        ssize_t n = recv(c.fd, in.data(), bytes - c.received, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) return true;
        if (n <= 0) return false;
        memcpy(out.data(), &tag, 8);
        if (memcmp(in.data(), out.data() + got, size_t(n)) != 0) ++errors;
        c.received = got += size_t(n);
      }
      uint64_t t = now_ns();
      if (t >= measure && t < end) h.add(t - c.start);
      ++c.served;
      c.sent = c.received = 0;
      if (t >= end) return true;
    }
  };

  epoll_event events[512];
  for (uint64_t t; (t = now_ns()) < end;) {
    int n = epoll_wait(ep, events, 512, int((end - t) / 1000000) + 1);
    for (int i = 0; i < n; ++i) {
      Conn& c = conns[events[i].data.u64];
      if (c.fd >= 0 && !advance(c, events[i].data.u64)) ++errors, close(c.fd), c.fd = -1;
    }
  }
  size_t unserved = size_t(std::count_if(conns.begin(), conns.end(), [](const Conn& c) { return c.served == 0; }));
  printf("%.0f requests/s  p50 %.1f  p99 %.1f  p999 %.1f  max %.1f us  errors %llu  unserved_connections %zu\n",
         double(h.total) / seconds, h.us(.5), h.us(.99), h.us(.999), double(h.max) / 1e3,
         static_cast<unsigned long long>(errors), unserved);
  return errors != 0 || unserved != 0;
}

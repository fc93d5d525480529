// How large is a directory? Each directory below it is read by a goroutine of its own, which sends the size of each
// file that it finds. main adds them up and prints its progress ten times a second.
#include <thrum/thrum.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

using sizes = thrum::chan<std::uintmax_t>;

// Holds a permit while the directory is open, because the number of descriptors is limited.
std::vector<fs::directory_entry> entries_of(fs::path const& directory, thrum::semaphore& permits) {
  permits.acquire();
  thrum::defer const back = [&] { permits.release(); };
  std::vector<fs::directory_entry> found;
  std::error_code unreadable;
  for (fs::directory_iterator next(directory, unreadable), end; !unreadable && next != end;
       next.increment(unreadable)) {
    found.push_back(*next);
  }
  return found;
}

void walk(fs::path const& directory, thrum::semaphore& permits, thrum::group& walkers, sizes::sender const& found) {
  for (fs::directory_entry const& entry : entries_of(directory, permits)) {
    std::error_code gone;
    if (entry.is_symlink(gone)) continue;
    if (entry.is_directory(gone)) {
      walkers.go([&, path = entry.path()] { walk(path, permits, walkers, found); });
    } else if (std::uintmax_t const size = entry.file_size(gone); !gone) {
      found.send(size);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  fs::path const root = argc > 1 ? argv[1] : ".";
  return thrum::run([&] {
    sizes const found(64);
    sizes::sender const report = found;
    thrum::semaphore permits(20);
    thrum::group walkers;
    walkers.go([&] { walk(root, permits, walkers, report); });
    thrum::go([&walkers, report] {
      walkers.wait();
      report.close();  // ends the loop below
    });

    thrum::ticker const tick(100ms);
    std::uintmax_t files = 0;
    std::uintmax_t bytes = 0;
    for (bool more = true; more;) {
      thrum::select(thrum::on_recv(found,
                                   [&](std::optional<std::uintmax_t> size) {
                                     more = size.has_value();
                                     files += more ? 1 : 0;
                                     bytes += size.value_or(0);
                                   }),
                    thrum::on_recv(tick.c(), [&](auto) { std::fprintf(stderr, "%ju files so far\n", files); }));
    }
    std::printf("%ju files, %ju bytes\n", files, bytes);
  });
}

// Publish and subscribe. "Do not communicate by sharing memory; share memory by communicating": the list of subscribers
// belongs to one goroutine, the hub. To change the list or to publish, other goroutines send to the hub. There are no
// locks.
#include <thrum/thrum.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace {

class hub {
 public:
  using inbox = thrum::chan<std::string>;

  hub() {
    thrum::go([publish = publish_, subscribe = subscribe_, unsubscribe = unsubscribe_] {
      std::vector<inbox> subscribers;
      for (bool open = true; open;) {
        thrum::select(thrum::on_recv(subscribe, [&](std::optional<inbox> who) { subscribers.push_back(*who); }),
                      thrum::on_recv(unsubscribe,
                                     [&](std::optional<inbox> who) {
                                       who->close();
                                       std::erase(subscribers, *who);
                                     }),
                      thrum::on_recv(publish, [&](std::optional<std::string> const& message) {
                        open = message.has_value();
                        for (auto const& to : subscribers) {
                          if (open) {
                            to.send(*message);
                          } else {
                            to.close();
                          }
                        }
                      }));
      }
    });
  }
  ~hub() { publish_.close(); }
  hub(hub const&) = delete;
  hub& operator=(hub const&) = delete;

  inbox subscribe() {
    inbox mine(8);  // the buffer keeps a slow reader from delaying the others at once
    subscribe_.send(mine);
    return mine;
  }
  void unsubscribe(inbox const& mine) { unsubscribe_.send(mine); }
  void publish(std::string message) { publish_.send(std::move(message)); }

 private:
  thrum::chan<std::string> publish_;
  thrum::chan<inbox> subscribe_;
  thrum::chan<inbox> unsubscribe_;
};

}  // namespace

int main() {
  return thrum::run([] {
    thrum::group readers;
    hub news;
    auto const read = [&](char const* name, hub::inbox inbox) {
      readers.go([=] {
        for (std::string const& message : inbox) std::printf("%s: %s\n", name, message.c_str());
        std::printf("%s: the end\n", name);
      });
    };
    auto const anna = news.subscribe();
    auto const bert = news.subscribe();
    read("anna", anna);
    read("bert", bert);
    news.publish("channels have landed");
    news.unsubscribe(bert);
    news.publish("so have contexts");
    // The hub is destroyed first, which closes the inboxes. Then the group is destroyed, which waits for its readers.
  });
}

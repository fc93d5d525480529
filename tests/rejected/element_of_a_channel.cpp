// A function for on_recv that takes the element could not be told that the channel is closed.
#include <thrum/thrum.h>

void take(thrum::chan<int> numbers) {
  thrum::select(thrum::on_recv(numbers, [](int) {}));
}

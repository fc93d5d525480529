// Channels: how goroutines pass values to each other (S33).
//
//   thrum::chan<int> squares(16);                       // room for 16; chan<int>() hands over from hand to hand
//   thrum::go([=]() mutable { for (int i = 0; i < 100; ++i) squares.send(i * i); squares.close(); });
//   for (int square : squares) use(square);             // until it is closed and drained
//
// A chan is a handle, cheap to copy: all copies are the same channel, which lives as long as one of them. Elements are
// received in the order in which they were sent; goroutines that wait are served in the order in which they came. An
// element need only be movable.
//
// Thread safety: everything may be called from any goroutine, or thread while a runtime is alive, at any time. send, recv and iteration block the goroutine,
// never its thread; try_send, try_recv, close, size and capacity never block and never switch. A send or recv that need
// not wait costs some ten nanoseconds, a hand-over between two goroutines two switches. Elements of up to 128 bytes that
// are trivially copyable travel by value, others in a box on the heap. The standard's pointers (unique_ptr, shared_ptr, weak_ptr) travel by value,
// too, and so does whatever is said to be relocatable, that is, may be moved by copying its bytes and forgetting the original:
//   template <> inline constexpr bool thrum::is_relocatable<my_handle> = true;
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/channel.h>
#include <thrum/detail/parcel.h>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace thrum {

// A misuse of a channel.
class channel_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// A send on a closed channel, or a second close.
class channel_closed : public channel_error {
 public:
  using channel_error::channel_error;
};

// What try_recv found: a value; or none, and then whether there will never be one again.
template <class T>
struct try_result {
  std::optional<T> value;
  bool closed = false;
  explicit operator bool() const noexcept { return value.has_value(); }
};

namespace detail {

// A counted reference to a channel; what the three kinds of handles share.
class channel_handle {
 public:
  channel_handle(channel_handle const& other) noexcept : core_(other.core_) { retain_channel(core_); }
  channel_handle(channel_handle&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  channel_handle& operator=(channel_handle other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  ~channel_handle() { release_channel(core_); }

  // Elements in the buffer at this moment, and how many have room. Both 0 for nil.
  [[nodiscard]] std::size_t size() const noexcept { return detail::size(core_); }
  [[nodiscard]] std::size_t capacity() const noexcept { return detail::capacity(core_); }

  // The same channel; and whether it is one at all, not nil.
  friend bool operator==(channel_handle const& a, channel_handle const& b) noexcept { return a.core_ == b.core_; }
  explicit operator bool() const noexcept { return core_ != nullptr; }

  [[nodiscard]] channel* core() const noexcept { return core_; }

 protected:
  explicit channel_handle(channel* owned) noexcept : core_(owned) {}

 private:
  channel* core_;
};

// The two sides of a channel, each for the handle that derives from it.
template <class Handle, class T>
class sending_side {
 public:
  // Throws channel_closed on a closed channel, also when it is closed while this waits. On nil: waits for ever.
  void send(T value) const requires is_just_bytes<T> { detail::send(core(), std::addressof(value)); }
  void send(T&& value) const requires(!is_just_bytes<T>) { send_packed(outgoing<T>(std::move(value))); }
  void send(T const& value) const requires(!is_just_bytes<T> && std::copy_constructible<T>) {
    send_packed(outgoing<T>(value));
  }

  // False: it would have to wait, and the value is left as it was.
  [[nodiscard]] bool try_send(T&& value) const {
    if constexpr (is_just_bytes<T>) {
      return detail::try_send(core(), std::addressof(value)) == attempt::done;
    } else {
      if (would_block_to_send(core())) return false;  // as a rule it need not even be moved there and back
      outgoing<T> element(std::move(value));
      try {
        if (try_send_packed(element)) return true;
      } catch (...) {
        element.give_back(value);
        throw;
      }
      element.give_back(value);
      return false;
    }
  }
  [[nodiscard]] bool try_send(T const& value) const requires std::copy_constructible<T> {
    if (would_block_to_send(core())) return false;
    outgoing<T> element(value);
    return try_send_packed(element);
  }

  // Whoever waits to receive gets nothing, whoever waits to send an exception; what is in the buffer can still be received.
  // Closing twice, or nil, throws channel_closed.
  void close() const { detail::close(core()); }

 private:
  void send_packed(outgoing<T> element) const {
    detail::send(core(), element.parcel());
    element.sent();
  }
  [[nodiscard]] bool try_send_packed(outgoing<T>& element) const {
    bool const done = detail::try_send(core(), element.parcel()) == attempt::done;
    if (done) element.sent();
    return done;
  }
  [[nodiscard]] channel* core() const noexcept { return static_cast<Handle const&>(*this).channel_handle::core(); }
};

template <class Handle, class T>
class receiving_side {
 public:
  // nullopt: closed and drained. On nil: waits for ever.
  [[nodiscard]] std::optional<T> recv() const {
    incoming<T> element;
    if (!detail::receive(core(), element.parcel())) return std::nullopt;
    return element.take();
  }

  [[nodiscard]] try_result<T> try_recv() const {
    incoming<T> element;
    switch (detail::try_receive(core(), element.parcel())) {
      case attempt::done: return {element.take(), false};
      case attempt::closed: return {std::nullopt, true};
      case attempt::would_block: break;
    }
    return {std::nullopt, false};
  }

  // `for (T value : c)`: receives until the channel is closed and drained.
  class iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    iterator() noexcept = default;
    explicit iterator(Handle from) : from_(std::move(from)), current_(from_->recv()) {}
    [[nodiscard]] T& operator*() const noexcept { return *current_; }
    iterator& operator++() {
      current_.reset();  // the last one is gone before the next is waited for
      if (auto next = from_->recv()) current_.emplace(*std::move(next));
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(iterator const& i, std::default_sentinel_t) noexcept { return !i.current_.has_value(); }

   private:
    std::optional<Handle> from_;
    mutable std::optional<T> current_;
  };
  [[nodiscard]] iterator begin() const { return iterator(static_cast<Handle const&>(*this)); }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  [[nodiscard]] channel* core() const noexcept { return static_cast<Handle const&>(*this).channel_handle::core(); }
};

}  // namespace detail

template <class T>
class chan : public detail::channel_handle,
             public detail::sending_side<chan<T>, T>,
             public detail::receiving_side<chan<T>, T> {
 public:
  using value_type = T;
  class sender;
  class receiver;

  // 0: rendezvous, a send waits for its receiver. Throws channel_error for a capacity that no memory can hold.
  explicit chan(std::size_t capacity) : channel_handle(detail::make_channel(capacity, detail::parcel_type_of<T>())) {
    // Here, and not in the class: an element may hold a channel of its own kind.
    static_assert(std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>> && std::move_constructible<T>,
                  "the element of a channel must be a movable object");
  }
  chan() : chan(0) {}

  // The nil channel: send and receive wait for ever, a select never picks it. A template, so that chan(0) is a capacity.
  template <std::same_as<std::nullptr_t> Nil>
  chan(Nil) noexcept : channel_handle(nullptr) {}  // NOLINT(google-explicit-constructor): as for pointers
};

// What may only be sent to, or only received from. A chan becomes either by itself, and neither becomes a chan again.
template <class T>
class chan<T>::sender : public detail::channel_handle, public detail::sending_side<typename chan<T>::sender, T> {
 public:
  using value_type = T;
  sender(chan<T> const& c) noexcept : channel_handle(c) {}  // NOLINT(google-explicit-constructor): meant to convert
};

template <class T>
class chan<T>::receiver : public detail::channel_handle, public detail::receiving_side<typename chan<T>::receiver, T> {
 public:
  using value_type = T;
  receiver(chan<T> const& c) noexcept : channel_handle(c) {}  // NOLINT(google-explicit-constructor): meant to convert
  explicit receiver(detail::channel* owned) noexcept : channel_handle(owned) {}  // internal: timers make their own
};

}  // namespace thrum

// Channels: pass values between goroutines (S33).
//
//   thrum::chan<int> squares(16);                       // a buffer for 16 elements; chan<int>() has no buffer
//   thrum::go([=]() mutable { for (int i = 0; i < 100; ++i) squares.send(i * i); squares.close(); });
//   for (int square : squares) use(square);             // until it is closed and empty
//
// A chan is a handle that is cheap to copy. All copies refer to the same channel, which lives as long as one of them.
// Elements are received in the order in which they were sent, and waiting goroutines are served in the order in which
// they came. An element only needs to be movable.
//
// Thread safety: everything may be called at any time from any goroutine, and from any thread while a runtime is alive.
// send, recv and iteration block the goroutine, never its thread. try_send, try_recv, close, size and capacity never
// block and never switch to another goroutine.
//
// Cost: a send or recv that need not wait takes some ten nanoseconds; passing an element between two goroutines that
// wait for each other takes two switches. Trivially copyable elements of up to 128 bytes are copied through the
// channel, and so are the standard's pointers (unique_ptr, shared_ptr, weak_ptr). Other elements are put into a box on
// the heap. You can declare a type relocatable if it may be moved by copying its bytes and forgetting the original; up
// to 128 bytes it then needs no box:
//   template <> inline constexpr bool thrum::is_relocatable<my_handle> = true;
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/channel.h>
#include <thrum/detail/parcel.h>
#include <thrum/detail/user_frame.h>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace thrum {

// Misuse of a channel.
class channel_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// A send on a closed channel, or a second close.
class channel_closed : public channel_error {
 public:
  using channel_error::channel_error;
};

// The result of try_recv: a value, or none; in that case it says whether the channel is closed and empty.
template <class T>
struct try_result {
  std::optional<T> value;
  bool closed = false;
  explicit operator bool() const noexcept { return value.has_value(); }
};

namespace detail {

// A counted reference to a channel: the common part of the three kinds of handles.
class channel_handle {
 public:
  channel_handle(channel_handle const& other) noexcept : core_(other.core_) { retain_channel(core_); }
  channel_handle(channel_handle&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  channel_handle& operator=(channel_handle other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  ~channel_handle() { release_channel(core_); }

  // The number of elements in the buffer at this moment, and the size of the buffer. Both are 0 for the nil channel.
  [[nodiscard]] std::size_t size() const noexcept { return detail::size(core_); }
  [[nodiscard]] std::size_t capacity() const noexcept { return detail::capacity(core_); }

  // Equality means the same channel. A handle is true if it is not nil.
  friend bool operator==(channel_handle const& a, channel_handle const& b) noexcept { return a.core_ == b.core_; }
  explicit operator bool() const noexcept { return core_ != nullptr; }

  [[nodiscard]] channel* core() const noexcept { return core_; }

 protected:
  explicit channel_handle(channel* owned) noexcept : core_(owned) {}

 private:
  channel* core_;
};

// The two sides of a channel, as base classes of the handles. The sending functions are always inlined, so that their
// calls of the library have return addresses in the user's code, which traces show. In the receiving ones gcc would see
// uses of uninitialised values where there are none.
template <class Handle, class T>
class sending_side {
 public:
  // Throws channel_closed if the channel is closed, also if that happens while send waits. Waits forever on the nil
  // channel.
  [[gnu::always_inline]] void send(T value) const requires is_just_bytes<T> {
    detail::send(core(), std::addressof(value));
    stay_in_users_function();
  }
  [[gnu::always_inline]] void send(T&& value) const requires(!is_just_bytes<T>) {
    send_packed(outgoing<T>(std::move(value)));
  }
  [[gnu::always_inline]] void send(T const& value) const requires(!is_just_bytes<T> && std::copy_constructible<T>) {
    send_packed(outgoing<T>(value));
  }

  // Returns false if it would have to wait; the value is then unchanged.
  [[nodiscard, gnu::always_inline]] bool try_send(T&& value) const {
    if constexpr (is_just_bytes<T>) {
      return detail::try_send(core(), std::addressof(value)) == attempt::done;
    } else {
      if (would_block_to_send(core())) return false;  // usually this saves moving the value to a box and back
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
  [[nodiscard, gnu::always_inline]] bool try_send(T const& value) const requires std::copy_constructible<T> {
    if (would_block_to_send(core())) return false;
    outgoing<T> element(value);
    return try_send_packed(element);
  }

  // Goroutines that wait to receive get no value, and those that wait to send get an exception. Elements in the buffer
  // can be received after the close. Closing twice, or closing nil, throws channel_closed.
  [[gnu::always_inline]] void close() const {
    detail::close(core());
    stay_in_users_function();
  }

 private:
  [[gnu::always_inline]] void send_packed(outgoing<T> element) const {
    detail::send(core(), element.parcel());
    element.sent();
  }
  [[nodiscard, gnu::always_inline]] bool try_send_packed(outgoing<T>& element) const {
    bool const done = detail::try_send(core(), element.parcel()) == attempt::done;
    if (done) element.sent();
    return done;
  }
  [[nodiscard]] channel* core() const noexcept { return static_cast<Handle const&>(*this).channel_handle::core(); }
};

template <class Handle, class T>
class receiving_side {
 public:
  // Returns std::nullopt if the channel is closed and empty. Waits forever on the nil channel.
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

  // `for (T value : c)` receives until the channel is closed and empty.
  class iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    iterator() noexcept = default;
    explicit iterator(Handle from) : from_(std::move(from)), current_(from_->recv()) {}
    [[nodiscard]] T& operator*() const noexcept { return *current_; }
    iterator& operator++() {
      current_.reset();  // destroys the previous element before waiting for the next
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

  // With capacity 0 a send waits for its receiver. Throws channel_error for a capacity that no memory can hold.
  explicit chan(std::size_t capacity) : channel_handle(detail::make_channel(capacity, detail::parcel_type_of<T>())) {
    // This stands here and not in the class, because an element may hold a channel of its own type.
    static_assert(std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>> && std::move_constructible<T>,
                  "the element type of a thrum::chan must be a movable object type");
  }
  chan() : chan(0) {}

  // The nil channel: send and receive wait forever, and a select never picks it. This is a template so that chan(0) is
  // a capacity.
  template <std::same_as<std::nullptr_t> Nil>
  chan(Nil) noexcept : channel_handle(nullptr) {}  // NOLINT(google-explicit-constructor): as for pointers
};

// Handles that can only send, or only receive. A chan converts to both of them; neither converts back to a chan.
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
  explicit receiver(detail::channel* owned) noexcept : channel_handle(owned) {}  // internal: for the channels of timers
};

}  // namespace thrum

// Converts an element to the parcel that a channel moves, and back: see channel.h. Everything except is_relocatable is
// internal.
#pragma once

#include <thrum/detail/channel.h>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum {

// Whether a T may be moved by copying its bytes and forgetting the original. Declare it for your own types:
//   template <> inline constexpr bool thrum::is_relocatable<my_handle> = true;
template <class T>
inline constexpr bool is_relocatable = std::is_trivially_copyable_v<T>;
template <class T>
inline constexpr bool is_relocatable<std::unique_ptr<T>> = true;
template <class T>
inline constexpr bool is_relocatable<std::shared_ptr<T>> = true;
template <class T>
inline constexpr bool is_relocatable<std::weak_ptr<T>> = true;

namespace detail {

template <class T>
inline constexpr bool travels_by_value = is_relocatable<T> && sizeof(T) <= parcel_bytes_max;

// An element that needs no conversion: a copy of it is the parcel.
template <class T>
inline constexpr bool is_just_bytes = std::is_trivially_copyable_v<T>&& travels_by_value<T>;

// Memory for a T whose lifetime begins or ends as bytes.
template <class T>
union raw {
  raw() noexcept {}
  ~raw() {}
  T value;
};

// An element on its way into a channel.
template <class T>
class outgoing {
 public:
  template <class From>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): the constraint keeps it from hiding anything
  requires(!std::is_same_v<std::remove_cvref_t<From>, outgoing>) explicit outgoing(From&& value) {
    if constexpr (travels_by_value<T>) {
      std::construct_at(std::addressof(held_.value), std::forward<From>(value));
    } else {
      held_ = new T(std::forward<From>(value));
    }
  }
  outgoing(outgoing&& other) noexcept(!travels_by_value<T> || std::is_nothrow_move_constructible_v<T>)
      : is_here_(other.is_here_) {
    if (!is_here_) return;
    if constexpr (travels_by_value<T>) {
      std::construct_at(std::addressof(held_.value), std::move(other.held_.value));
    } else {
      held_ = other.held_;
      other.is_here_ = false;
    }
  }
  outgoing& operator=(outgoing&&) = delete;
  ~outgoing() {
    if (!is_here_) return;
    if constexpr (travels_by_value<T>) {
      std::destroy_at(std::addressof(held_.value));
    } else {
      delete held_;
    }
  }

  [[nodiscard]] void* parcel() noexcept { return std::addressof(held_); }
  [[nodiscard]] bool is_here() const noexcept { return is_here_; }
  void sent() noexcept { is_here_ = false; }  // it belongs to the channel or to its receiver

  // The element was not sent: moves it back to the object that it came from.
  void give_back(T& to) {
    if constexpr (std::is_move_assignable_v<T>) {
      to = std::move(value());
    } else {
      // noexcept, because an exception would leave the caller with a destroyed object.
      [&]() noexcept {
        std::destroy_at(std::addressof(to));
        std::construct_at(std::addressof(to), std::move(value()));
      }();
    }
  }

 private:
  [[nodiscard]] T& value() noexcept {
    if constexpr (travels_by_value<T>) {
      return held_.value;
    } else {
      return *held_;
    }
  }

  std::conditional_t<travels_by_value<T>, raw<T>, T*> held_;
  bool is_here_ = true;
};

// An element on its way out of a channel.
template <class T>
class incoming {
 public:
  incoming() noexcept = default;
  incoming(incoming const&) = delete;
  incoming& operator=(incoming const&) = delete;

  [[nodiscard]] void* parcel() noexcept { return std::addressof(held_); }

  // To be called once, after the element was received.
  [[nodiscard]] std::optional<T> take() {
    if constexpr (!travels_by_value<T>) {
      std::unique_ptr<T> const box(held_);
      return std::optional<T>(std::in_place, std::move(*box));
    } else if constexpr (std::is_trivially_copyable_v<T>) {
      return std::optional<T>(std::in_place, std::move(held_.value));
    } else {
      struct destroyer {
        T& value;
        ~destroyer() { std::destroy_at(std::addressof(value)); }
      } const at_end{held_.value};
      return std::optional<T>(std::in_place, std::move(held_.value));
    }
  }

 private:
  std::conditional_t<travels_by_value<T>, raw<T>, T*> held_;
};

template <class T>
[[nodiscard]] constexpr parcel_type parcel_type_of() noexcept {
  if constexpr (!travels_by_value<T>) {
    return {sizeof(T*), [](void* parcel) noexcept { delete *static_cast<T**>(parcel); }};
  } else if constexpr (std::is_trivially_destructible_v<T>) {
    return {sizeof(T), nullptr};
  } else {
    // The buffer consists of bytes, so an element in it may be unaligned.
    return {sizeof(T), [](void* parcel) noexcept {
              raw<T> aligned;
              __builtin_memcpy(static_cast<void*>(std::addressof(aligned)), parcel, sizeof(T));
              std::destroy_at(std::addressof(aligned.value));
            }};
  }
}

}  // namespace detail
}  // namespace thrum

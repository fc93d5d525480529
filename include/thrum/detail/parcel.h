// From an element to the parcel that travels through a channel, and back: see channel.h. Internal.
#pragma once

#include <thrum/detail/channel.h>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum {

// Whether a T may be moved by copying its bytes and forgetting the original. Say so for your own types:
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

// Room for a T that begins or ends its life as bytes.
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
  explicit outgoing(T&& value) {
    if constexpr (travels_by_value<T>) {
      std::construct_at(std::addressof(held_.value), std::move(value));
    } else {
      held_ = new T(std::move(value));
    }
  }
  outgoing(outgoing const&) = delete;
  outgoing& operator=(outgoing const&) = delete;
  ~outgoing() {
    if (!mine_) return;
    if constexpr (travels_by_value<T>) {
      std::destroy_at(std::addressof(held_.value));
    } else {
      delete held_;
    }
  }

  [[nodiscard]] void* parcel() noexcept { return std::addressof(held_); }
  [[nodiscard]] T& value() noexcept {
    if constexpr (travels_by_value<T>) {
      return held_.value;
    } else {
      return *held_;
    }
  }
  void sent() noexcept { mine_ = false; }  // it is the channel's now, or its receiver's

 private:
  std::conditional_t<travels_by_value<T>, raw<T>, T*> held_;
  bool mine_ = true;
};

// An element on its way out.
template <class T>
class incoming {
 public:
  incoming() noexcept = default;
  incoming(incoming const&) = delete;
  incoming& operator=(incoming const&) = delete;

  [[nodiscard]] void* parcel() noexcept { return std::addressof(held_); }

  // After it was received, once.
  [[nodiscard]] std::optional<T> take() {
    if constexpr (!travels_by_value<T>) {
      std::unique_ptr<T> const box(held_);
      return std::optional<T>(std::move(*box));
    } else if constexpr (std::is_trivially_copyable_v<T>) {
      return std::optional<T>(std::move(held_.value));
    } else {
      struct destroyer {
        T& value;
        ~destroyer() { std::destroy_at(std::addressof(value)); }
      } const at_end{held_.value};
      return std::optional<T>(std::move(held_.value));
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
    // The buffer is bytes: an element in it need not be aligned.
    return {sizeof(T), [](void* parcel) noexcept {
              raw<T> aligned;
              __builtin_memcpy(static_cast<void*>(std::addressof(aligned)), parcel, sizeof(T));
              std::destroy_at(std::addressof(aligned.value));
            }};
  }
}

}  // namespace detail
}  // namespace thrum

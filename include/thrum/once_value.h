// once_value: a value that is computed at most once, by the first call.
//
//   thrum::once_value config([] { return load_config(); });
//   use(config());                                   // from any goroutine, any number of times
//
// The first call runs the function. Calls that come while it runs wait, parked. Every call returns a reference to the
// same value. If the function threw, every call throws the same exception. If it left by goexit, every call throws
// goroutine_exited. The function is destroyed after it has run. It may return void; then only the exception is kept.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/callable.h>
#include <thrum/detail/forced_unwind.h>
#include <thrum/go.h>
#include <thrum/once.h>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum {

template <class F>
requires std::invocable<F>
class once_value {
  using result = std::invoke_result_t<F>;
  static constexpr bool is_void = std::is_void_v<result>;
  static constexpr bool is_reference = std::is_reference_v<result>;
  struct nothing {};
  using stored =
      std::conditional_t<is_void, nothing, std::conditional_t<is_reference, std::remove_reference_t<result>*, result>>;

 public:
  // The result of a call: a reference, because a value could be moved out only once.
  using reference = std::conditional_t<is_void || is_reference, result, std::add_lvalue_reference_t<result const>>;

  explicit once_value(F f) : function_(std::move(f)) { detail::require_callable(*function_); }
  once_value(once_value const&) = delete;
  once_value& operator=(once_value const&) = delete;

  reference operator()() {
    first_.call([this] { compute(); });
    if (error_) std::rethrow_exception(error_);
    if (!value_) throw goroutine_exited();
    if constexpr (is_reference) {
      return static_cast<result>(**value_);
    } else if constexpr (!is_void) {
      return *value_;
    }
  }

 private:
  void compute() {
    defer const release_function = [this] { function_.reset(); };
    try {
      if constexpr (is_void) {
        std::invoke(std::move(*function_));
        value_.emplace();
      } else if constexpr (is_reference) {
        auto&& answer = std::invoke(std::move(*function_));
        value_ = std::addressof(answer);
      } else {
        value_.emplace(std::invoke(std::move(*function_)));
      }
    } catch (...) {
      if (detail::is_forced_unwind()) throw;  // goexit: there is no value
      error_ = std::current_exception();
    }
  }

  once first_;
  std::optional<F> function_;
  std::optional<stored> value_;
  std::exception_ptr error_;
};

template <class F>
once_value(F) -> once_value<F>;

}  // namespace thrum

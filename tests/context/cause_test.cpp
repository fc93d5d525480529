// Whichever came first gives the error and the cause (CX-07): Go's table.
#include "support/run_at.h"
#include <thrum/thrum.h>

#include <chrono>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

std::exception_ptr named(char const* name) { return std::make_exception_ptr(std::runtime_error(name)); }

context const root;

struct order {
  char const* name;
  std::function<context()> make;
  std::error_code error;
  std::string cause;  // what() of what was given; empty: the context_error of the error
};

// Makes a context below another one. `cancel` cancels both, in some order.
template <class F>
auto of_child(F cancel) {
  return [cancel] {
    auto const parent = with_cancel_cause(root);
    auto const child = with_cancel_cause(parent.ctx);
    cancel(parent, child);
    return child.ctx;
  };
}

std::vector<order> const orders{
    {"nothing", [] { return root; }, {}, ""},
    {"cancel",
     [] {
       auto const c = with_cancel(root);
       c.cancel();
       return c.ctx;
     },
     context_errc::canceled, ""},
    {"cancel with a cause",
     [] {
       auto const c = with_cancel_cause(root);
       c.cancel(named("parent"));
       return c.ctx;
     },
     context_errc::canceled, "parent"},
    {"cancel with no cause",
     [] {
       auto const c = with_cancel_cause(root);
       c.cancel(nullptr);
       return c.ctx;
     },
     context_errc::canceled, ""},
    {"the parent's cause before the child's", of_child([](auto& parent, auto& child) {
       parent.cancel(named("parent"));
       child.cancel(named("child"));
     }),
     context_errc::canceled, "parent"},
    {"the parent's cause after the child's", of_child([](auto& parent, auto& child) {
       child.cancel(named("child"));
       parent.cancel(named("parent"));
     }),
     context_errc::canceled, "child"},
    {"the parent does not see the child's cause",
     [] {
       auto const p = with_cancel_cause(root);
       auto const c = with_cancel_cause(p.ctx);
       c.cancel(named("child"));
       p.cancel(named("parent"));
       return p.ctx;
     },
     context_errc::canceled, "parent"},
    {"the parent's cause before none", of_child([](auto& parent, auto& child) {
       parent.cancel(named("parent"));
       child.cancel(nullptr);
     }),
     context_errc::canceled, "parent"},
    {"the parent's cause after none", of_child([](auto& parent, auto& child) {
       child.cancel(nullptr);
       parent.cancel(named("parent"));
     }),
     context_errc::canceled, ""},
    {"the child's cause after none",
     [] {
       auto const c = with_cancel_cause(root);
       c.cancel(nullptr);
       c.cancel(named("child"));
       return c.ctx;
     },
     context_errc::canceled, ""},
    {"the child's cause before none",
     [] {
       auto const c = with_cancel_cause(root);
       c.cancel(named("child"));
       c.cancel(nullptr);
       return c.ctx;
     },
     context_errc::canceled, "child"},
    {"a timeout", [] { return with_timeout(root, 0s).ctx; }, context_errc::deadline_exceeded, ""},
    {"a timeout that was cancelled",
     [] {
       auto const c = with_timeout(root, 1h);
       c.cancel();
       return c.ctx;
     },
     context_errc::canceled, ""},
    {"a timeout with a cause", [] { return with_timeout(root, 0s, named("too slow")).ctx; },
     context_errc::deadline_exceeded, "too slow"},
    {"a timeout with a cause that comes",
     [] {
       auto const c = with_timeout(root, 1ms, named("too slow"));
       static_cast<void>(c.ctx.done().recv());
       c.cancel(named("later"));
       return c.ctx;
     },
     context_errc::deadline_exceeded, "too slow"},
    {"a timeout with a cause that was cancelled",
     [] {
       auto const c = with_timeout(root, 1h, named("too slow"));
       c.cancel();
       return c.ctx;
     },
     context_errc::canceled, ""},
    {"a timeout below a cause",
     [] {
       auto const p = with_cancel_cause(root);
       return with_timeout(p.ctx, 0s, named("too slow")).ctx;
     },
     context_errc::deadline_exceeded, "too slow"},
    {"a timeout below a cause, cancelled",
     [] {
       auto const p = with_cancel_cause(root);
       auto const c = with_timeout(p.ctx, 1h, named("too slow"));
       c.cancel();
       p.cancel(named("parent"));
       return c.ctx;
     },
     context_errc::canceled, ""},
    {"a timeout below a cause that comes first",
     [] {
       auto const p = with_cancel_cause(root);
       auto const c = with_timeout(p.ctx, 1h, named("too slow"));
       p.cancel(named("parent"));
       c.cancel();
       return c.ctx;
     },
     context_errc::canceled, "parent"},
    {"a cause below a timeout",
     [] {
       auto const p = with_timeout(root, 0s, named("too slow"));
       auto const c = with_cancel_cause(p.ctx);
       c.cancel(named("child"));
       return c.ctx;
     },
     context_errc::deadline_exceeded, "too slow"},
    {"a timeout below a shorter one",
     [] {
       auto const p = with_timeout(root, 1ms, named("first"));
       auto const c = with_timeout(p.ctx, 1h, named("second"));
       static_cast<void>(c.ctx.done().recv());
       return c.ctx;
     },
     context_errc::deadline_exceeded, "first"},
    {"without_cancel of what is cancelled",
     [] {
       auto const p = with_cancel_cause(root);
       p.cancel(named("parent"));
       return without_cancel(p.ctx);
     },
     {},
     ""},
    {"without_cancel of what is cancelled, cancelled again",
     [] {
       auto const p = with_cancel_cause(root);
       auto const c = with_cancel_cause(without_cancel(p.ctx));
       p.cancel(named("parent"));
       c.cancel(named("child"));
       return c.ctx;
     },
     context_errc::canceled, "child"},
    {"a timeout below without_cancel",
     [] {
       auto const p = with_cancel_cause(root);
       auto const c = with_timeout(without_cancel(p.ctx), 1ms, named("too slow"));
       p.cancel(named("parent"));
       static_cast<void>(c.ctx.done().recv());
       return c.ctx;
     },
     context_errc::deadline_exceeded, "too slow"},
};

class context_cause : public at_every_width {};
THRUM_AT_EVERY_WIDTH(context_cause);

TEST_P(context_cause, CX07_of_whichever_came_first) {
  EXPECT_GE(orders.size(), 23U);
  run([] {
    for (auto const& [name, make, error, cause] : orders) {
      context const ctx = make();
      EXPECT_EQ(ctx.err(), error) << name;
      if (!error) {
        EXPECT_EQ(ctx.cause(), nullptr) << name;
        continue;
      }
      EXPECT_EQ(ctx.cause(), ctx.cause()) << name << ": always the same";
      EXPECT_EQ(with_cancel(with_value(ctx, 1)).ctx.cause(), ctx.cause())
          << name << ": and for a context that is made later";
      try {
        ctx.throw_if_done();
        ADD_FAILURE() << name << ": nothing was thrown";
      } catch (context_error const& e) {
        EXPECT_EQ(cause, "") << name;
        EXPECT_EQ(e.code(), error) << name;
      } catch (std::runtime_error const& e) {
        EXPECT_EQ(cause, e.what()) << name;
      }
    }
  });
}

}  // namespace
}  // namespace thrum::test

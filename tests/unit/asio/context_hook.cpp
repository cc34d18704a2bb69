// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "asio/context_hook.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

namespace gander::detail {
namespace {

class fake_hook final : public context_hook {
public:
    explicit fake_hook(asio::any_io_executor const& ex) : registry_(hook_service::of(ex)) {}
    ~fake_hook() override { registry_->remove(*this); }
    void connect() { registry_->add(*this); }
    void on_shutdown() noexcept override {
        ++told;
        if (then) then();
    }

    int told = 0;
    std::function<void()> then;

private:
    std::shared_ptr<hook_service::registry> const registry_;
};

std::shared_ptr<fake_hook> make(asio::any_io_executor const& ex) {
    auto hook = std::make_shared<fake_hook>(ex);
    hook->connect();
    return hook;
}

TEST(ContextHook, EachIsToldOnceWhenTheContextGoes) {
    auto io = std::make_unique<asio::io_context>();
    auto const a = make(io->get_executor());
    auto const b = make(asio::make_strand(*io));
    EXPECT_EQ(a->told + b->told, 0);
    io.reset();
    EXPECT_EQ(a->told, 1);
    EXPECT_EQ(b->told, 1);
}

TEST(ContextHook, OneThatIsGoneIsForgotten) {
    auto io = std::make_unique<asio::io_context>();
    auto a = make(io->get_executor());
    auto const b = make(io->get_executor());
    a.reset();
    io.reset();
    EXPECT_EQ(b->told, 1);
}

TEST(ContextHook, OneMayOutliveItsContextAndTheRegistry) {
    std::shared_ptr<fake_hook> hook;
    {
        asio::io_context io;
        hook = make(io.get_executor());
    }
    EXPECT_EQ(hook->told, 1);
    hook.reset();
}

TEST(ContextHook, AShutdownMayDestroyOtherHooks) {
    auto io = std::make_unique<asio::io_context>();
    std::vector<std::shared_ptr<fake_hook>> all;
    for (int i = 0; i < 4; ++i) all.push_back(make(io->get_executor()));
    auto const first = all.front();
    first->then = [&] { all.clear(); };
    io.reset();
    EXPECT_EQ(first->told, 1);
    EXPECT_TRUE(all.empty());
}

}  // namespace
}  // namespace gander::detail

#include "bridge/provider_directory.hpp"

#include "net/http/test_support.hpp"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>

#include <gtest/gtest.h>

namespace crab::bridge {
namespace {

using namespace std::chrono_literals;

/// Providers that answer at once, wherever they are said to be.
class ReadyProviders final : public ProviderTransport {
public:
    Task<Delivery> send(const cetp::ProviderRecord&, const cetp::MethodCall& call,
                        Deadline) override {
        if (call.method == cetp::kListTools) ++lists;
        co_return cetp::Envelope::ok(call.method == cetp::kListTools ? R"({"tools":[{"name":"x"}]})"
                                                                     : "done");
    }
    Task<void> start_silently(const cetp::ProviderRecord&, Deadline) override { co_return; }

    std::atomic<int> lists = 0;
};

class ProviderDirectoryTest : public testing::Test {
protected:
    ProviderDirectoryTest()
        : caller(thread.loop, transports()),
          directory({thread.loop, blocking, lists, caller, paths}, [](const auto&) {}, [] {}) {
        std::string made =
            (std::filesystem::temp_directory_path() / "crab-directory-XXXXXX").string();
        if (::mkdtemp(made.data()) == nullptr) std::abort();
        folder = made;
        paths.data_dirs = {folder};
        paths.choices = folder / "providers.json";
        std::filesystem::create_directories(folder / "cetp" / "providers");
        std::ofstream(folder / "cetp" / "providers" / "org.example.Ledger.ini")
            << "[CETP Provider]\nTransport=unix\nSocket=/nowhere\n";
    }
    ~ProviderDirectoryTest() override {
        blocking.settle();  // labels are being kept
        std::filesystem::remove_all(folder);
    }

    ProviderCaller::Transports transports() {
        auto made = std::make_unique<ReadyProviders>();
        providers = made.get();
        ProviderCaller::Transports all;
        all.emplace(cetp::Transport::kUnix, std::move(made));
        return all;
    }
    KnownProvider::State state() {
        return thread.run([this] {
            const auto found = directory.providers().find("org.example.Ledger");
            return found == directory.providers().end() ? KnownProvider::State::kOff
                                                        : found->second.state;
        });
    }
    void start_and_wait_for_the_list() {
        thread.run([this] { return directory.start(), true; });
        const auto limit = std::chrono::steady_clock::now() + 5s;
        while (providers->lists == 0 && std::chrono::steady_clock::now() < limit)
            std::this_thread::yield();
        ASSERT_EQ(providers->lists, 1);
        thread.run([] { return true; });  // the turn in which the list came is over
    }
    void stop(std::promise<void>& ended) {
        thread.run([&] { return directory.stop([&ended] { ended.set_value(); }), true; });
    }
    /// Until it is told to go on, nothing is read.
    std::promise<void> hold_lists() {
        std::promise<void> go;
        lists.post("others", [gone = go.get_future().share()] { return gone.wait(), false; });
        return go;
    }

    std::filesystem::path folder;
    BridgePaths paths;
    RealClock clock;
    ReadyProviders* providers = nullptr;
    BlockingPool blocking{1};
    FairPool lists{1};
    net::test::LoopThread thread{clock};
    ProviderCaller caller;
    ProviderDirectory directory;
};

TEST_F(ProviderDirectoryTest, CallsAreAnsweredWhileAListWaitsToBeRead) {
    std::promise<void> go = hold_lists();
    start_and_wait_for_the_list();
    std::promise<std::string> answer;
    const auto on_end = [&](const std::exception_ptr&, std::optional<cetp::Envelope> envelope) {
        answer.set_value(envelope->data);
    };
    thread.run([&] {
        auto other = std::make_shared<cetp::ProviderRecord>();
        other->id = "org.example.Other";
        other->transport = cetp::Transport::kUnix;
        auto execute = cetp::MethodCall::execute_tool("x", "{}", "c-1");
        const Deadline deadline = clock.steady_now() + 5s;
        auto call = caller.call(std::move(other), std::move(execute),
                                cetp::RetrySequence::Purpose::kExecution, deadline);
        spawn(thread.loop.executor(), std::move(call), on_end);
        return true;
    });
    EXPECT_EQ(answer.get_future().get(), "done");
    EXPECT_EQ(state(), KnownProvider::State::kListing);
    go.set_value();
    lists.settle();
    EXPECT_EQ(state(), KnownProvider::State::kListed);
    std::promise<void> ended;
    stop(ended);
    ended.get_future().wait();
}

TEST_F(ProviderDirectoryTest, WhatIsBeingReadAtTheEndIsReadNoFurther) {
    std::promise<void> go = hold_lists();
    start_and_wait_for_the_list();
    std::promise<void> ended;
    stop(ended);
    go.set_value();
    ended.get_future().wait();
    EXPECT_EQ(state(), KnownProvider::State::kListing);
}

}  // namespace
}  // namespace crab::bridge

#include "gateway/hosts/worktree_service_client.hpp"

#include "adapters/sw4rm/configured_services.hpp"
#include "net/loop/finish_on.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr Milliseconds kAnswerWithin{2'000};
constexpr std::size_t kMostRemembered = 64;

}  // namespace

struct WorktreeServiceClient::LoopPart {
    LoopPart(net::EventLoop& at, const sw4rm::ServiceClient::Options& service)
        : loop(at), client(at, service) {}
    net::EventLoop& loop;
    sw4rm::ServiceClient client;
    std::deque<std::string> waited;   ///< the last calls that it gave no answer for
};

WorktreeServiceClient::WorktreeServiceClient(net::LoopGroup& loops,
                                             const sw4rm::ServiceClient::Options& service) {
    for (std::size_t i = 0; i < loops.size(); ++i)
        parts_.push_back(std::make_shared<LoopPart>(loops.at(i), service));
}

Task<Result<std::string>> WorktreeServiceClient::bound_worktree(std::string agent,
                                                                std::string call) {
    const auto here = std::ranges::find_if(
        parts_, [](const auto& part) { return &part->loop == net::EventLoop::current(); });
    if (here == parts_.end())
        throw std::logic_error("worktrees are asked for on a loop of the gateway");
    LoopPart& part = **here;
    if (std::ranges::find(part.waited, call) != part.waited.end())
        co_return fail(ErrorCode::kUnavailable,
                       fmt::format("the worktree service did not answer for {}", agent));
    const SteadyTime asked = part.loop.clock().steady_now();
    auto bound = co_await sw4rm::bound_worktree(part.client, agent, asked + kAnswerWithin);
    if (bound) co_return std::move(*bound);
    const Error& error = bound.error().error;
    if (error.code == ErrorCode::kCancelled) co_return fail(error);
    if (part.loop.clock().steady_now() >= asked + kAnswerWithin) {
        part.waited.push_back(std::move(call));
        if (part.waited.size() > kMostRemembered) part.waited.pop_front();
    }
    // a connection on which nothing comes back may be dead without our knowing
    part.client.retire();
    co_return fail(
        ErrorCode::kUnavailable,
        fmt::format("the worktree service refused the worktree of {}: {}", agent, error.message));
}

void WorktreeServiceClient::stop() {
    for (const auto& part : parts_) {
        net::finish_on(part->loop, [&](const std::function<void()>& done) {
            part->client.close();
            done();
        });
    }
}

}  // namespace crab::gateway

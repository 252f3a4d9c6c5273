#include "gateway/mcp/mcp_logins.hpp"

#include "crypto/random.hpp"

#include <algorithm>
#include <utility>

namespace crab::gateway {
namespace {

constexpr std::size_t kIdBytes = 16;

}  // namespace

Result<McpLogins::Begun> McpLogins::begin(mcp::LoginOptions options,
                                          mcp::BearerChallenge challenge) {
    return tasks_.wait_for(begin_there(std::move(options), std::move(challenge)));
}

Result<void> McpLogins::finish(std::string_view source, std::string_view id,
                               std::string redirected) {
    return tasks_.wait_for(
        finish_there(std::string(source), std::string(id), std::move(redirected)));
}

void McpLogins::make_room() {
    const SteadyTime now = clock().steady_now();
    std::erase_if(open_, [&](const auto& each) { return each.second.until <= now; });
    if (open_.size() < kMost) return;
    open_.erase(
        std::ranges::min_element(open_, {}, [](const auto& each) { return each.second.until; }));
}

Task<Result<McpLogins::Begun>> McpLogins::begin_there(mcp::LoginOptions options,
                                                      mcp::BearerChallenge challenge) {
    std::string source = options.key.source;
    const auto flow =
        std::make_shared<mcp::LoginFlow>(fetcher_, credentials_, clock(), std::move(options));
    auto url = co_await flow->begin(std::move(challenge));
    if (!url) co_return fail(std::move(url.error()));
    make_room();
    Begun begun{.id = crypto::random_hex(kIdBytes), .url = std::move(*url)};
    open_.emplace(
        begun.id,
        Open{.source = std::move(source), .flow = flow, .until = clock().steady_now() + kPatience});
    co_return begun;
}

Task<Result<void>> McpLogins::finish_there(std::string source, std::string id,
                                           std::string redirected) {
    make_room();
    const auto found = open_.find(id);
    if (found == open_.end() || found->second.source != source)
        co_return fail(ErrorCode::kNotFound, "there is no such login; begin it again");
    const auto flow = found->second.flow;
    auto done = co_await flow->finish(std::move(redirected));
    if (done) open_.erase(id);
    co_return done;
}

}  // namespace crab::gateway

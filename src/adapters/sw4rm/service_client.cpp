#include "adapters/sw4rm/service_client.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace crab::sw4rm {
namespace {

using Next = net::GrpcClientCall::Next;

constexpr std::size_t kMostMetadata = 16;

bool is_plain(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

CallFailure not_begun(Error error) {
    CallFailure failure{.error = std::move(error), .status = net::GrpcStatus::kUnavailable};
    // The call was surely not started, whatever kept it from the other side.
    const bool own = failure.error.code == ErrorCode::kCancelled ||
                     failure.error.code == ErrorCode::kForbidden ||
                     failure.error.code == ErrorCode::kPairingRequired;
    if (!own) failure.error.code = ErrorCode::kUnavailable;
    return failure;
}

}  // namespace

CallFailure local_failure(ErrorCode code, std::string message, std::uint64_t frames) {
    return {.error = fail(code, std::move(message)).error(),
            .status = net::GrpcStatus::kInternal,
            .frames = frames};
}

ServiceClient::ServiceClient(net::EventLoop& loop, Options options)
    : loop_(loop),
      authorization_(options.token.empty() ? std::string() : "Bearer " + options.token),
      channel_(loop, std::move(options.channel)) {}

Task<ServiceClient::Begun> ServiceClient::begin(std::string_view path, std::string request,
                                                std::span<const net::HttpHeader> metadata,
                                                Deadline deadline, Deadline patience) {
    std::vector<net::HttpHeader> fields;
    if (!authorization_.empty()) fields.push_back({"authorization", authorization_});
    for (const net::HttpHeader& field : metadata.first(std::min(metadata.size(), kMostMetadata))) {
        if (!field.value.empty() && is_plain(field.value)) fields.push_back(field);
    }
    auto begun = co_await channel_.begin(path, fields, deadline, patience);
    if (!begun) {
        const bool impatient =
            begun.error().code == ErrorCode::kTimeout && loop_.clock().steady_now() >= patience;
        CallFailure failure = not_begun(std::move(begun.error()));
        failure.impatient = impatient;
        co_return std::unexpected(std::move(failure));
    }
    begun->send(request);
    co_return std::move(*begun);
}

Task<std::expected<std::string, CallFailure>> ServiceClient::unary(std::string_view path,
                                                                   std::string request,
                                                                   Deadline patience) {
    auto begun = co_await begin(path, std::move(request), {}, patience, patience);
    if (!begun) co_return std::unexpected(std::move(begun.error()));
    std::optional<std::string> answer;
    for (;;) {
        const Next next = co_await begun->next(patience);
        if (next == Next::kExpired)
            co_return std::unexpected(
                local_failure(ErrorCode::kTimeout, "no answer came before the deadline"));
        if (next == Next::kCancelled)
            co_return std::unexpected(
                local_failure(ErrorCode::kCancelled, "the request was cancelled"));
        if (next == Next::kEnd) break;
        answer = begun->message();
    }
    if (begun->end().status != net::GrpcStatus::kOk)
        co_return std::unexpected(read_failure(*begun));
    if (!answer)
        co_return std::unexpected(local_failure(ErrorCode::kInternal, "the answer has no message"));
    co_return std::move(*answer);
}

}  // namespace crab::sw4rm

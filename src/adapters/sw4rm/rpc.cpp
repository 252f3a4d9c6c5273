#include "adapters/sw4rm/rpc.hpp"

#include "base/cut_text.hpp"

#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

constexpr std::size_t kMostMessageBytes = 1024;
constexpr std::size_t kMostTrailerBytes = 256;

/// What may stand in a trailer: printable ASCII, anything else becomes `?`.
std::string plain(std::string_view text) {
    std::string out(cut_text(text, kMostTrailerBytes));
    for (char& c : out) {
        if (c < 0x20 || c > 0x7e) c = '?';
    }
    return out;
}

}  // namespace

Rpc::Rpc(net::GrpcCall call, std::string_view operation)
    : call_(std::move(call)), operation_(operation) {
    auto given = metadata("x-correlation-id");
    if (!given || given->empty()) given = metadata("x-request-id");
    correlation_id_ =
        given && !given->empty() ? plain(*given) : std::string(call_.loop().ids().uuid_v7().view());
}

void Rpc::finish_ok() {
    const std::array<net::HttpHeader, 1> trailers{{{"correlation-id", correlation_id_}}};
    call_.finish(net::GrpcStatus::kOk, {}, trailers);
}

void Rpc::fail(const Error& error, Resource about, std::span<const net::HttpHeader> beside) {
    std::vector<net::HttpHeader> more(beside.begin(), beside.end());
    std::string retry_after;
    if (error.retry_after) {
        retry_after = std::to_string(error.retry_after->count());
        more.push_back({"retry-after-ms", retry_after});
    }
    fail(form_of(error), error.message, about, more);
}

void Rpc::fail(const ErrorForm& form, std::string_view text, Resource about,
               std::span<const net::HttpHeader> more) {
    const std::string message = fmt::format("{}: {}", form.token, text);
    const std::string id = plain(about.id);
    std::vector<net::HttpHeader> trailers{{"error-code", form.token},
                                          {"retry-able", form.retry_able ? "true" : "false"},
                                          {"operation", operation_},
                                          {"correlation-id", correlation_id_}};
    if (!about.type.empty()) trailers.push_back({"resource-type", about.type});
    if (!id.empty()) trailers.push_back({"resource-id", id});
    if (!form.retry_able) trailers.push_back({"grpc-retry-pushback-ms", "-1"});
    trailers.insert(trailers.end(), more.begin(), more.end());
    call_.finish(form.status, cut_text(message, kMostMessageBytes), trailers);
}

void Rpc::fail(const net::GrpcFailure& failure) {
    const std::array<net::HttpHeader, 2> trailers{
        {{"operation", operation_}, {"correlation-id", correlation_id_}}};
    call_.finish(failure.status, failure.message, trailers);
}

}  // namespace crab::sw4rm

#include "sdk/uploader.hpp"

#include "base/clock.hpp"
#include "base/encoding.hpp"
#include "crypto/digest.hpp"
#include "json/value.hpp"
#include "net/codec/url.hpp"
#include "net/http/blocking_client.hpp"
#include "net/http/http_reply.hpp"
#include "sdk/answer_bytes.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include <fmt/format.h>

namespace crab::sdk {
namespace {

constexpr int kTries = 3;
constexpr Milliseconds kUsualPause{500}, kLongestPause{30'000}, kLook{50};

std::string content_type_of(const ToolAnswer& answer) {
    switch (answer.kind()) {
        case ToolAnswer::Kind::kBytes:
            return answer.content_type().empty() ? "application/octet-stream"
                                                 : answer.content_type();
        case ToolAnswer::Kind::kJson: return "application/json";
        case ToolAnswer::Kind::kText:
        case ToolAnswer::Kind::kError: return "text/plain; charset=utf-8";
    }
    return "application/octet-stream";
}

/// The tool has run by now, so no code says that nothing was done: the gateway's "busy" is about
/// the upload. What helps the caller is kept in words.
Error after_the_run(Error error) {
    if (error.code != ErrorCode::kOversize) error.code = ErrorCode::kInternal;
    return error;
}

/// How long to wait before the same upload is worth another try; nothing when it is not.
std::optional<Milliseconds> pause_after(const net::ClientResponse& response) {
    constexpr std::array kPassing{408, 429, 502, 503};
    if (std::ranges::find(kPassing, response.status) == kPassing.end()) return std::nullopt;
    const auto asked =
        net::parse_retry_after(response.find("retry-after").value_or(""),
                               response.find("date").value_or(""), RealClock().system_now());
    if (asked && *asked > kLongestPause) return std::nullopt;
    return std::max(kUsualPause, asked.value_or(kUsualPause));
}

/// Sleeps, but not beyond a cancel; false when the call would have ended before.
bool wait_for_another_try(const CallState& call, Milliseconds pause) {
    const auto until = std::chrono::steady_clock::now() + pause;
    if (until >= call.deadline()) return false;
    while (!call.cancelled() && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(kLook);
    return !call.cancelled();
}

/// The id, or the error that the gateway's answer tells.
Result<std::string> read_answer(const net::ClientResponse& response) {
    const auto body = json::Value::parse(response.body);
    const auto text = [&](std::string_view name) -> std::string {
        const json::Value* value = body ? body->find(name) : nullptr;
        return value != nullptr && value->as_string() != nullptr ? *value->as_string()
                                                                 : std::string();
    };
    if (response.status == 201 && !text("artifact").empty()) return text("artifact");
    const std::string message = text("error");
    const auto code = find_error_code(text("code")).value_or(ErrorCode::kInternal);
    return std::unexpected(after_the_run(
        {.code = code,
         .message =
             message.empty() ? fmt::format("the gateway answered {}", response.status) : message,
         .details = {},
         .retryable = {},
         .retry_after = {}}));
}

}  // namespace

void Uploader::set_token(std::string token) {
    const std::scoped_lock lock(mutex_);
    token_ = std::move(token);
}

Result<std::string> Uploader::upload(const UploadTerms& terms, CallState& call,
                                     const ToolAnswer& answer) {
    const auto bytes = bytes_of_answer(answer);
    if (!bytes) return fail(ErrorCode::kInternal, "the file of the result cannot be read");
    if (bytes->size() > terms.max_bytes) {
        return fail(ErrorCode::kOversize,
                    fmt::format("the result has {} bytes, and {} are allowed; ask for less",
                                bytes->size(), terms.max_bytes));
    }
    crypto::Sha256 digest;
    for (std::string_view piece = bytes->next(); !piece.empty(); piece = bytes->next())
        digest.update(piece);

    net::ClientRequest request;
    request.method = "POST";
    request.target =
        fmt::format("{}{}?call_id={}", address_.prefix, terms.path, net::percent_encode(call.id()));
    request.headers = {{"Content-Type", content_type_of(answer)},
                       {"Content-Digest", fmt::format("sha-256=:{}:", to_base64(digest.finish()))}};
    {
        const std::scoped_lock lock(mutex_);
        if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
    }
    request.streamed_bytes = bytes->size();
    request.next_piece = [&]() -> std::string_view {
        return call.cancelled() ? std::string_view() : bytes->next();
    };
    net::BlockingClient::Options options;
    options.tls = tls_;
    options.server_name = address_.endpoint.host;
    options.host_header = address_.host;
    for (int tried = 1;; ++tried) {
        bytes->rewind();
        net::BlockingClient client(address_.endpoint, options);
        const auto response = client.send(request, call.deadline());
        if (response) {
            const auto pause = tried < kTries ? pause_after(*response) : std::nullopt;
            if (!pause || !wait_for_another_try(call, *pause)) return read_answer(*response);
        } else if (response.error().code != ErrorCode::kUnavailable || tried == kTries ||
                   call.cancelled()) {
            return fail(after_the_run(response.error()));
        }
    }
}

}  // namespace crab::sdk

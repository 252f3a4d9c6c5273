#include "sdk/uploader.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"
#include "json/value.hpp"
#include "net/codec/url.hpp"
#include "net/http/blocking_client.hpp"
#include "sdk/answer_bytes.hpp"

#include <fmt/format.h>

namespace crab::sdk {
namespace {

constexpr int kTries = 3;

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
    return fail(
        find_error_code(text("code")).value_or(ErrorCode::kInternal),
        message.empty() ? fmt::format("the gateway answered {}", response.status) : message);
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
        if (response) return read_answer(*response);
        if (response.error().code != ErrorCode::kUnavailable || tried == kTries || call.cancelled())
            return fail(response.error());
    }
}

}  // namespace crab::sdk

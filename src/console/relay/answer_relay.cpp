#include "console/relay/answer_relay.hpp"

#include "base/ascii.hpp"
#include "net/http/http_error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace crab::console {
namespace {

/// Fields that are about one connection (RFC 9110, section 7.6.1), and those that this side writes
/// itself. A cookie of the gateway is none of the page's business.
constexpr std::array<std::string_view, 13> kNotRelayed = {"connection",       "content-length",
                                                          "content-type",     "date",
                                                          "keep-alive",       "proxy-authenticate",
                                                          "proxy-connection", "server",
                                                          "set-cookie",       "te",
                                                          "trailer",          "transfer-encoding",
                                                          "upgrade"};

std::vector<net::HttpHeader> relayed_headers(const net::OwnedHeaders& headers) {
    std::vector<net::HttpHeader> relayed;
    for (const auto& [name, value] : headers) {
        const auto is_name = [&](std::string_view other) { return equals_lower(name, other); };
        if (std::ranges::none_of(kNotRelayed, is_name)) relayed.push_back({name, value});
    }
    return relayed;
}

std::optional<std::uint64_t> length_of(const net::HttpReply& head) {
    const auto text = head.find("content-length");
    std::uint64_t length = 0;
    if (!text) return std::nullopt;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), length);
    if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
    return length;
}

}  // namespace

bool AnswerRelay::takes(const net::HttpReply& head) {
    if (head.status == 204 || head.status == 304) return false;
    const std::vector<net::HttpHeader> headers = relayed_headers(head.headers);
    const std::string_view type = head.find("content-type").value_or("");
    if (const auto length = length_of(head))
        exchange_.start_sized_stream(head.status, type, *length, headers);
    else
        exchange_.start_stream(head.status, type, headers);
    streaming_ = true;
    return true;
}

bool AnswerRelay::on_body(std::string_view piece) {
    exchange_.write_chunk(piece);
    return true;
}

bool AnswerRelay::pauses(const std::function<void()>& resume) {
    resume_ = resume;
    wakeup_.wake();
    return true;
}

Task<bool> AnswerRelay::pace() {
    while (!finished_) {
        if (co_await wakeup_.wait() == WaitEnd::kCancelled) break;
        if (!resume_) continue;
        co_await exchange_.drained();
        if (const auto resume = std::exchange(resume_, {})) resume();
    }
    co_return true;
}

void AnswerRelay::finish(const net::HttpResult& result, bool session_ended) {
    finished_ = true;
    if (!streaming_)
        answer_at_once(result, session_ended);
    else if (result)
        exchange_.end_stream();  // one that lacks its end closes the browser's connection
    wakeup_.wake();
}

void AnswerRelay::answer_at_once(const net::HttpResult& result, bool session_ended) {
    if (!result && session_ended) {
        return exchange_.respond_error(401, "UNAUTHENTICATED",
                                       "the session has ended: sign in again");
    }
    if (!result) {
        return exchange_.respond_error(
            503, "DEPENDENCY_UNAVAILABLE",
            "the gateway does not answer; the console goes on when it is back");
    }
    exchange_.respond(result->status, result->find("content-type").value_or(""), result->body,
                      relayed_headers(result->headers));
}

}  // namespace crab::console

#pragma once

#include "base/result.hpp"
#include "net/http/http_body_sink.hpp"
#include "net/http/http_body_source.hpp"
#include "net/http/http_service.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::net {

/// Limit of 1xx answers before the final one.
constexpr int kMostInterimAnswers = 8;

/// One request of an HttpClient; its views must hold until the answer is there. Host and
/// Content-Length are added.
struct HttpCall {
    std::string_view method = "GET";
    std::string_view target = "/";
    std::string_view content_type;
    std::string_view body;
    std::span<const HttpHeader> headers;
    HttpBodySource* source = nullptr;  ///< gives the body piece by piece, instead of `body`
    HttpBodySink* sink = nullptr;  ///< takes the answer's body as it comes; null: it is collected
    std::uint64_t max_body_bytes = 0;  ///< of the answer; 0: as the client's options say
};

/// A complete answer, whatever its status.
struct HttpReply {
    int status = 0;
    OwnedHeaders headers;
    std::string body;

    /// The first field of that name, which is given in lower case.
    std::optional<std::string_view> find(std::string_view lower_case_name) const;
    /// `Retry-After` (RFC 9110, section 10.2.3), at most a day. A date counts from the answer's own
    /// `Date`, whose clock it is; without that from `now`.
    std::optional<Milliseconds> retry_after(SystemTime now) const;
};

/// The same for the texts of the two fields; `date` is empty when the answer has none.
std::optional<Milliseconds> parse_retry_after(std::string_view text, std::string_view date,
                                              SystemTime now);

/// Why there is no answer, and whether the other side may have seen any of the request.
struct HttpFailure {
    Error error;
    bool written = false;  ///< a byte of the request has been handed to the kernel
    bool answered = false;  ///< a byte of an answer has come
};

using HttpResult = std::expected<HttpReply, HttpFailure>;

}  // namespace crab::net

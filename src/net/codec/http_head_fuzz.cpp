// Request and response heads: every view lies in the input, and a prefix needs more or gives the
// answer of the whole.

#include "net/codec/fuzz_check.hpp"
#include "net/codec/http_head.hpp"
#include "net/codec/url.hpp"
#include "net/codec/websocket_handshake.hpp"

#include <functional>
#include <string_view>

namespace {

using namespace crab::net;

void require_inside(std::string_view view, std::string_view bytes) {
    if (view.empty() || view == "/") return;
    require(!std::less<>{}(view.data(), bytes.data()) &&
                !std::less<>{}(bytes.data() + bytes.size(), view.data() + view.size()),
            "a view lies in the input");
}

void require_fields_inside(const HeaderList& headers, std::string_view bytes) {
    for (const HttpHeader header : headers) {
        require_inside(header.name, bytes);
        require_inside(header.value, bytes);
        require(header.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
                "no value holds a line end or NUL");
    }
}

template <class Head, class Parse>
HeadOutcome check(std::string_view bytes, const HttpLimits& limits, Head& head, Parse parse) {
    const HeadOutcome whole = parse(bytes, head, limits);
    const std::size_t step = bytes.size() < 256 ? 1 : 1 + bytes.size() / 64;
    for (std::size_t size = 0; size < bytes.size(); size += step) {
        Head prefix_head;
        const HeadOutcome part = parse(bytes.substr(0, size), prefix_head, limits);
        if (part.kind == HeadOutcome::Kind::kNeedMore) continue;
        require(part.kind == whole.kind && part.status == whole.status &&
                    part.consumed == whole.consumed,
                "a prefix answers as the whole");
    }
    if (whole.kind == HeadOutcome::Kind::kRefused)
        require(whole.status >= 400 && !whole.reason.empty(), "a refusal says why");
    if (whole.kind == HeadOutcome::Kind::kComplete) {
        require(whole.consumed > 0 && whole.consumed <= bytes.size() &&
                    whole.consumed <= limits.max_head_bytes,
                "the head ends in the input");
        require(!(head.chunked && head.content_length), "there is one framing");
        require_fields_inside(head.headers, bytes.substr(0, whole.consumed));
    }
    return whole;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const HttpLimits tight{.max_head_bytes = 120, .max_headers = 3, .max_target = 20};
    for (const HttpLimits& limits : {HttpLimits{}, tight}) {
        RequestHead request;
        if (check(bytes, limits, request, parse_request_head).kind ==
            HeadOutcome::Kind::kComplete) {
            for (const std::string_view view :
                 {request.method, request.target, request.path, request.query, request.host})
                require_inside(view, bytes);
            if (const auto upgrade = validate_upgrade(request))
                require(!upgrade->key.empty(), "an upgrade has a key");
            negotiate_deflate(request);
            percent_decode(request.path);
            find_query(request.query, "session_id");
            parse_host(request.host);
            if (const auto origin = request.find("origin")) parse_origin(*origin);
        }
        ResponseHead response;
        if (check(bytes, limits, response, parse_response_head).kind ==
            HeadOutcome::Kind::kComplete) {
            require(response.status >= 100 && response.status < 600, "a status is one");
            require_inside(response.reason, bytes);
        }
    }
    return 0;
}

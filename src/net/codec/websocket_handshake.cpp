#include "net/codec/websocket_handshake.hpp"

#include "base/encoding.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/http_write.hpp"
#include "net/codec/websocket_deflate.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace crab::net {
namespace {

constexpr std::string_view kDeflateName = "permessage-deflate";

bool has_element(const HeaderList& headers, std::string_view name, std::string_view lower) {
    return std::ranges::any_of(headers, [&](const HttpHeader& header) {
        return equals_lower(header.name, name) &&
               !for_each_element(header.value, [&](std::string_view element) {
                   return !equals_lower(element, lower);
               });
    });
}

// 16 bytes in base64, in the one form that decoding and encoding again would give.
bool is_key(std::string_view key) {
    const std::optional<std::string> bytes = from_base64(key);
    return bytes && bytes->size() == 16;
}

// Takes a token (RFC 9110) from the front; empty when there is none.
std::string_view take_token(std::string_view& rest) {
    std::size_t size = 0;
    while (size < rest.size() && has_class(rest[size], kTokenChar)) ++size;
    const std::string_view token = rest.substr(0, size);
    rest = trim(rest.substr(size));
    return token;
}

bool take(std::string_view& rest, char wanted) {
    if (rest.empty() || rest.front() != wanted) return false;
    rest = trim(rest.substr(1));
    return true;
}

struct Extension {
    bool is_deflate = false;
    bool usable = true;  // no unknown, repeated or malformed parameter
    bool server_no_takeover = false;
    bool client_no_takeover = false;
    std::optional<int> server_window, client_window;
    // client_max_window_bits without a value, legal in offers only
    bool client_window_hint = false;
};

// 8..15 without leading zeros.
std::optional<int> window_bits(std::string_view value) {
    if (value == "8" || value == "9") return value[0] - '0';
    if (value.size() == 2 && value[0] == '1' && value[1] >= '0' && value[1] <= '5')
        return 10 + value[1] - '0';
    return std::nullopt;
}

void understand(Extension& extension, std::string_view name,
                std::optional<std::string_view> value) {
    const auto once = [&](bool& flag) { extension.usable &= !std::exchange(flag, true) && !value; };
    if (equals_lower(name, "server_no_context_takeover")) return once(extension.server_no_takeover);
    if (equals_lower(name, "client_no_context_takeover")) return once(extension.client_no_takeover);
    const std::optional<int> bits = value ? window_bits(*value) : std::nullopt;
    if (equals_lower(name, "server_max_window_bits")) {
        extension.usable &= bits && !extension.server_window;
        extension.server_window = bits;
    } else if (equals_lower(name, "client_max_window_bits")) {
        extension.usable &=
            (bits || !value) && !extension.client_window && !extension.client_window_hint;
        extension.client_window = bits;
        extension.client_window_hint |= !value;
    } else {
        extension.usable = false;
    }
}

// A value is a token, or a quoted string that holds a token (RFC 6455 section 9.1), so no escapes
// need be undone.
std::optional<std::string_view> take_value(std::string_view& rest) {
    const bool quoted = !rest.empty() && rest.front() == '"';
    if (quoted) rest.remove_prefix(1);
    std::size_t size = 0;
    while (size < rest.size() && has_class(rest[size], kTokenChar)) ++size;
    const std::string_view value = rest.substr(0, size);
    rest.remove_prefix(size);
    if (value.empty() || (quoted && !rest.starts_with('"'))) return std::nullopt;
    if (quoted) rest.remove_prefix(1);
    rest = trim(rest);
    return value;
}

// Sec-WebSocket-Extensions of every field, in order; nothing when the syntax is broken anywhere.
std::optional<std::vector<Extension>> parse_extensions(const HeaderList& headers) {
    std::vector<Extension> extensions;
    for (const HttpHeader header : headers) {
        if (!equals_lower(header.name, "sec-websocket-extensions")) continue;
        std::string_view rest = trim(header.value);
        while (!rest.empty()) {
            if (take(rest, ',')) continue;
            const std::string_view name = take_token(rest);
            if (name.empty()) return std::nullopt;
            Extension extension{.is_deflate = equals_lower(name, kDeflateName)};
            while (take(rest, ';')) {
                const std::string_view parameter = take_token(rest);
                if (parameter.empty()) return std::nullopt;
                std::optional<std::string_view> value;
                if (take(rest, '=') && !(value = take_value(rest))) return std::nullopt;
                understand(extension, parameter, value);
            }
            extensions.push_back(extension);
            if (!rest.empty() && rest.front() != ',') return std::nullopt;
        }
    }
    return extensions;
}

// The tokens of Sec-WebSocket-Protocol; nothing when an element is not a token or comes twice.
std::optional<std::vector<std::string_view>> parse_protocols(const HeaderList& headers) {
    std::vector<std::string_view> protocols;
    for (const HttpHeader header : headers) {
        if (!equals_lower(header.name, "sec-websocket-protocol")) continue;
        const bool good = for_each_element(header.value, [&](std::string_view protocol) {
            if (!all_of_class(protocol, kTokenChar) ||
                std::ranges::find(protocols, protocol) != protocols.end())
                return false;
            protocols.push_back(protocol);
            return true;
        });
        if (!good) return std::nullopt;
    }
    return protocols;
}

std::unexpected<HttpRefusal> refuse(int status, std::string_view reason) {
    return std::unexpected(HttpRefusal{status, reason});
}

std::expected<std::optional<DeflateAgreement>, std::string_view> accepted_deflate(
    const ResponseHead& head, bool offered) {
    const std::optional<std::vector<Extension>> extensions = parse_extensions(head.headers);
    if (!extensions) return std::unexpected("the server's Sec-WebSocket-Extensions is broken");
    if (extensions->empty()) return std::nullopt;
    const Extension& chosen = extensions->front();
    if (!offered || extensions->size() > 1 || !chosen.is_deflate)
        return std::unexpected("the server chose an extension that was not offered");
    // Our offer has no client_max_window_bits, so the answer may not have it; it insists on a
    // server without context.
    if (!chosen.usable || chosen.client_window || chosen.client_window_hint ||
        !chosen.server_no_takeover) {
        return std::unexpected(
            "the server answered the offer of compression with parameters that do not fit it");
    }
    return DeflateAgreement{};
}

}  // namespace

bool WebSocketUpgrade::offers(std::string_view protocol) const {
    return std::ranges::find(protocols, protocol) != protocols.end();
}

std::string websocket_accept_key(std::string_view key) {
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<std::uint8_t, 20> digest;
    if (EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha1(), nullptr) != 1)
        throw std::bad_alloc();
    return to_base64(digest);
}

std::expected<WebSocketUpgrade, HttpRefusal> validate_upgrade(const RequestHead& head) {
    if (head.method != "GET") return refuse(405, "a WebSocket opens with GET");
    const bool asks = has_element(head.headers, "upgrade", "websocket");
    if (!asks) return refuse(426, "this path speaks WebSocket only");
    if (!head.connection_upgrade) return refuse(400, "Upgrade without Connection: Upgrade");
    if (head.minor_version == 0) return refuse(400, "a WebSocket opens with HTTP/1.1");
    if (head.framing() != BodyFraming::kNone) return refuse(400, "a WebSocket request has no body");
    if (head.headers.count("sec-websocket-version") > 1)
        return refuse(400, "there is more than one Sec-WebSocket-Version");
    const std::optional<std::string_view> version = head.find("sec-websocket-version");
    if (!version) return refuse(400, "Sec-WebSocket-Version is missing");
    if (*version != "13") return refuse(426, "the only WebSocket version spoken here is 13");
    if (head.headers.count("sec-websocket-key") > 1)
        return refuse(400, "there is more than one Sec-WebSocket-Key");
    const std::string_view key = head.find("sec-websocket-key").value_or("");
    if (!is_key(key)) return refuse(400, "Sec-WebSocket-Key is not 16 bytes in base64");
    std::optional<std::vector<std::string_view>> protocols = parse_protocols(head.headers);
    if (!protocols) return refuse(400, "Sec-WebSocket-Protocol is not a list of different tokens");
    if (!parse_extensions(head.headers))
        return refuse(400, "Sec-WebSocket-Extensions is not a list of extensions");
    return WebSocketUpgrade{.key = key, .protocols = std::move(*protocols)};
}

std::optional<DeflateAgreement> negotiate_deflate(const RequestHead& head) {
    const std::optional<std::vector<Extension>> offers = parse_extensions(head.headers);
    if (!offers) return std::nullopt;
    for (const Extension& offer : *offers) {
        if (!offer.is_deflate || !offer.usable) continue;
        if (offer.server_window && *offer.server_window < MessageDeflater::kMinWindowBits) continue;
        return DeflateAgreement{
            .send_window_bits = offer.server_window.value_or(MessageDeflater::kMaxWindowBits),
            .announce_window = offer.server_window.has_value()};
    }
    return std::nullopt;
}

void append_upgrade_response(std::string& out, std::string_view key, std::string_view protocol,
                             const std::optional<DeflateAgreement>& deflate) {
    append_status_line(out, 101);
    out.append("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ")
        .append(websocket_accept_key(key))
        .append("\r\n");
    if (!protocol.empty() && all_of_class(protocol, kTokenChar))
        out.append("Sec-WebSocket-Protocol: ").append(protocol).append("\r\n");
    if (deflate) {
        out +=
            "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; "
            "client_no_context_takeover";
        if (deflate->announce_window)
            out.append("; server_max_window_bits=")
                .append(std::to_string(deflate->send_window_bits));
        out += "\r\n";
    }
    append_head_end(out);
}

bool append_upgrade_request(std::string& out, const UpgradeRequest& request) {
    std::string head;
    if (!append_request_line(head, "GET", request.target, request.host)) return false;
    head += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n";
    if (!append_header(head, "Sec-WebSocket-Key", request.key)) return false;
    std::string protocols;
    for (const std::string_view protocol : request.protocols) {
        if (protocol.empty() || !all_of_class(protocol, kTokenChar)) return false;
        protocols.append(protocols.empty() ? "" : ", ").append(protocol);
    }
    if (!protocols.empty() && !append_header(head, "Sec-WebSocket-Protocol", protocols))
        return false;
    if (request.offer_deflate) {
        head +=
            "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; "
            "client_no_context_takeover\r\n";
    }
    for (const HttpHeader& header : request.more) {
        if (!append_header(head, header.name, header.value)) return false;
    }
    append_head_end(head);
    out += head;
    return true;
}

std::expected<UpgradeAccepted, std::string_view> check_upgrade_response(
    const ResponseHead& head, const UpgradeRequest& request) {
    if (head.status != 101) return std::unexpected("the server did not switch to WebSocket");
    if (!has_element(head.headers, "upgrade", "websocket") || !head.connection_upgrade) {
        return std::unexpected("the server switched to something other than WebSocket");
    }
    if (head.headers.count("sec-websocket-accept") != 1 ||
        head.find("sec-websocket-accept") != websocket_accept_key(request.key)) {
        return std::unexpected("the server's Sec-WebSocket-Accept does not answer the key");
    }
    UpgradeAccepted accepted{.protocol = head.find("sec-websocket-protocol").value_or(""),
                             .deflate = {}};
    const bool offered =
        std::ranges::find(request.protocols, accepted.protocol) != request.protocols.end();
    if (head.headers.count("sec-websocket-protocol") > (offered ? 1U : 0U)) {
        return std::unexpected("the server chose a subprotocol that was not offered");
    }
    auto deflate = accepted_deflate(head, request.offer_deflate);
    if (!deflate) return std::unexpected(deflate.error());
    accepted.deflate = *deflate;
    return accepted;
}

}  // namespace crab::net

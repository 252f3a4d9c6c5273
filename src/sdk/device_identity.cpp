#include "sdk/device_identity.hpp"

#include "base/encoding.hpp"
#include "crypto/signature.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"
#include "net/http/blocking_client.hpp"

#include <fmt/format.h>

namespace crab::sdk {
namespace {

constexpr std::string_view kHead = "crab-device-key ";

/// POST with a JSON body; any status is an answer.
Result<net::ClientResponse> post(const GatewayRoute& route, std::string_view path, std::string body,
                                 std::vector<std::pair<std::string, std::string>> headers = {}) {
    net::BlockingClient::Options options;
    options.tls = route.tls;
    options.host_header = route.address.host;
    options.max_body_bytes = 64 * 1024;
    net::BlockingClient client(route.address.endpoint, options);
    net::ClientRequest request;
    request.method = "POST";
    request.target = route.address.prefix + std::string(path);
    request.headers = std::move(headers);
    if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
    request.body = std::move(body);
    return client.send(request);
}

std::string member(const net::ClientResponse& response, std::string_view name) {
    const auto body = json::Value::parse(response.body);
    const json::Value* value = body ? body->find(name) : nullptr;
    return value != nullptr && value->as_string() != nullptr ? *value->as_string() : std::string();
}

std::string base64(std::string_view bytes) { return to_base64(bytes_of(bytes)); }

/// Whether the gateway may answer better later.
std::unexpected<Error> refusal(const net::ClientResponse& response) {
    const bool later = response.status == 429 || response.status >= 500;
    const std::string message = member(response, "error");
    return fail(later ? ErrorCode::kUnavailable : ErrorCode::kUnauthenticated,
                message.empty()
                    ? fmt::format("the gateway answered {} to this device's key", response.status)
                    : message);
}

}  // namespace

std::optional<DeviceIdentity> DeviceIdentity::parse(const std::string& text) {
    if (!text.starts_with(kHead)) return std::nullopt;
    const std::size_t line = text.find('\n');
    if (line == std::string::npos) return std::nullopt;
    auto key = crypto::PrivateKey::from_pem(Secret(text.substr(line + 1) + "\n"));
    if (!key) return std::nullopt;
    return DeviceIdentity(text.substr(kHead.size(), line - kHead.size()), std::move(*key));
}

Secret<std::string> DeviceIdentity::to_text() const {
    return Secret(fmt::format("{}{}\n{}", kHead, key_id_, key_.to_pem().reveal()));
}

Result<std::string> DeviceIdentity::fetch_token(const GatewayRoute& route) const {
    const auto challenge = post(route, "/device/challenge", "{}");
    if (!challenge) return fail(challenge.error());
    const std::string nonce = member(*challenge, "nonce");
    if (challenge->status != 200 || nonce.empty()) return refusal(*challenge);
    std::string body;
    json::Writer(body)
        .begin_object()
        .key("key_id")
        .string(key_id_)
        .key("nonce")
        .string_lossy(nonce)
        .key("signature")
        .string(base64(crypto::sign(key_, fmt::format("crab-device-v1\n{}\n{}", key_id_, nonce))))
        .end_object();
    const auto answer = post(route, "/device/token", std::move(body));
    if (!answer) return fail(answer.error());
    std::string token = member(*answer, "token");
    if (answer->status != 200 || token.empty()) return refusal(*answer);
    return token;
}

Result<Paired> pair_with_code(const GatewayRoute& route, const std::string& code,
                              const std::optional<crypto::PrivateKey>& offered) {
    std::string body;
    if (offered)
        json::Writer(body)
            .begin_object()
            .key("public_key")
            .string(base64(offered->public_key().der))
            .end_object();
    const auto answer = post(route, "/pair", std::move(body), {{"X-Pairing-Code", code}});
    if (!answer) return fail(answer.error());
    switch (answer->status) {
        case 200: break;
        case 403:
            return fail(
                ErrorCode::kPairingFailed,
                "the gateway does not know this code; codes work once and last five minutes");
        case 404:
            return fail(
                ErrorCode::kPairingFailed,
                "no pairing code is open at the gateway; make one there with `crab devices pair`");
        case 429: return fail(ErrorCode::kRateLimited, "too many pairing attempts; wait a minute");
        default:
            return fail(ErrorCode::kPairingFailed,
                        fmt::format("the gateway answered {} to the pairing code", answer->status));
    }
    Paired paired{.token = member(*answer, "token"), .identity = {}};
    const std::string key_id = member(*answer, "key_id");
    if (offered && !key_id.empty()) paired.identity.emplace(key_id, *offered);
    if (paired.token.empty() && !paired.identity)
        return fail(ErrorCode::kPairingFailed, "the gateway's answer holds neither token nor key");
    return paired;
}

}  // namespace crab::sdk

#include "adapters/rtp/pairing/peers_wire.hpp"

#include "base/encoding.hpp"
#include "crypto/key_text.hpp"
#include "net/codec/http_text.hpp"
#include "net/http/route_answers.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

using trust::PairingCode;
using trust::PairingRequest;
using trust::PairingResult;

std::unexpected<trust::PairingError> invalid(std::string message) {
    return trust::refuse(PairingCode::kInvalidArgs, std::move(message));
}

/// An object that has no members but `known`.
PairingResult<json::Value> parse_object(std::string_view text,
                                        std::initializer_list<std::string_view> known) {
    auto value = json::Value::parse(text, {.max_bytes = 64 * 1024, .max_depth = 8});
    if (!value || !value->is_object()) return invalid("the body must be a JSON object");
    for (const auto& [name, _] : *value->as_object()) {
        if (std::ranges::find(known, name) == known.end())
            return invalid(fmt::format("/{}: no such member", trust::one_line(name)));
    }
    return std::move(*value);
}

/// The member `name`, which must be text if it is there.
PairingResult<std::optional<std::string>> text_in(const json::Value& object,
                                                  std::string_view name) {
    const json::Value* const member = object.find(name);
    if (member == nullptr) return std::optional<std::string>();
    if (member->as_string() == nullptr) return invalid(fmt::format("/{}: must be a string", name));
    return *member->as_string();
}

PairingResult<std::string> required_text(const json::Value& object, std::string_view name) {
    auto text = text_in(object, name);
    if (!text) return std::unexpected(text.error());
    if (!*text || (*text)->empty()) return invalid(fmt::format("/{}: is required", name));
    return std::move(**text);
}

PairingResult<bool> flag_in(const json::Value& object, std::string_view name) {
    const json::Value* const member = object.find(name);
    if (member == nullptr) return false;
    if (member->as_bool() == nullptr)
        return invalid(fmt::format("/{}: must be true or false", name));
    return *member->as_bool();
}

PairingResult<PairingRequest> to_request(const json::Value& body) {
    auto type_text = required_text(body, "component_type");
    if (!type_text) return std::unexpected(type_text.error());
    const auto type = trust::parse_component_type(*type_text);
    if (!type) return invalid("/component_type: one of tool_host, listener, subscriber, operator");
    const auto id = required_text(body, "component_id");
    if (!id) return std::unexpected(id.error());
    const auto endpoint = required_text(body, "endpoint");
    if (!endpoint) return std::unexpected(endpoint.error());
    PairingRequest request{.name = {*type, std::string(trim(*id))},
                           .endpoint = std::string(trim(*endpoint))};
    const auto key_text = text_in(body, "remote_key");
    if (!key_text) return std::unexpected(key_text.error());
    if (*key_text) {
        request.remote_key = crypto::from_base64_exact<32>(**key_text);
        if (!request.remote_key)
            return invalid("/remote_key: must be the base64 of 32 bytes, as the remote prints it");
    }
    const auto replace = flag_in(body, "replace");
    if (!replace) return std::unexpected(replace.error());
    if (*replace) request.kind = PairingRequest::Kind::kReplace;
    const auto test = flag_in(body, "test");
    if (!test) return std::unexpected(test.error());
    request.is_test = *test;
    return request;
}

/// The role that a peer of this type starts with.
std::string_view role_of(trust::ComponentType type) {
    switch (type) {
        case trust::ComponentType::kToolHost: return "tool_host";
        case trust::ComponentType::kListener: return "listener";
        case trust::ComponentType::kSubscriber: return "subscriber";
        case trust::ComponentType::kOperator: return "cli_admin";
    }
    return {};
}

bool is_https_url(std::string_view text) {
    constexpr std::string_view kScheme = "https://";
    return text.starts_with(kScheme) && text.size() > kScheme.size() && text.size() <= 2048 &&
           std::ranges::all_of(text,
                               [](char c) { return c > ' ' && c < 0x7f && c != '#' && c != '@'; });
}

}  // namespace

PairingResult<PairingRequest> parse_pairing(std::string_view body) {
    const auto object = parse_object(
        body, {"component_type", "component_id", "endpoint", "remote_key", "replace", "test"});
    return object ? to_request(*object) : std::unexpected(object.error());
}

PairingResult<PairingRequest> parse_pair_start(std::string_view text) {
    const auto object = parse_object(text, {"action", "component_type", "component_id", "endpoint",
                                            "remote_key", "replace", "test"});
    if (!object) return std::unexpected(object.error());
    const auto action = required_text(*object, "action");
    if (!action) return std::unexpected(action.error());
    if (*action != "pair.start") return invalid("/action: must be pair.start");
    return to_request(*object);
}

PairingResult<PeerChange> parse_peer_change(std::string_view body) {
    const auto object = parse_object(body, {"status", "tool_url"});
    if (!object) return std::unexpected(object.error());
    PeerChange change;
    const auto status = text_in(*object, "status");
    if (!status) return std::unexpected(status.error());
    if (*status) {
        change.status = trust::find_peer_status(**status);
        if (change.status != trust::PeerStatus::kActive &&
            change.status != trust::PeerStatus::kInactive)
            return invalid("/status: active or inactive");
    }
    auto url = text_in(*object, "tool_url");
    if (!url) return std::unexpected(url.error());
    change.tool_url = std::move(*url);
    if (change.tool_url && !change.tool_url->empty() && !is_https_url(*change.tool_url))
        return invalid("/tool_url: an https:// URL, or empty");
    if (!change.status && !change.tool_url) return invalid("name what changes: status, tool_url");
    return change;
}

PairingResult<std::string> parse_revocation(std::string_view body) {
    if (body.empty()) return std::string();
    const auto object = parse_object(body, {"reason"});
    if (!object) return std::unexpected(object.error());
    auto reason = text_in(*object, "reason");
    if (!reason) return std::unexpected(reason.error());
    return trust::one_line(std::move(*reason).value_or(""));
}

PairingResult<void> parse_nothing(std::string_view body) {
    if (body.empty()) return {};
    const auto object = parse_object(body, {});
    if (!object) return std::unexpected(object.error());
    return {};
}

void append_peer(json::Writer& writer, const trust::PeerRecord& peer, std::string_view problem) {
    writer.begin_object()
        .key("component_type")
        .string(to_text(peer.name.type))
        .key("component_id")
        .string(peer.name.id);
    writer.key("endpoint").string(peer.endpoint);
    writer.key("public_key_ed25519")
        .string(to_base64(peer.public_key_ed25519))
        .key("public_key_x25519")
        .string(to_base64(peer.public_key_x25519));
    writer.key("mtls_cert_fingerprint")
        .string(peer.mtls_cert_fingerprint)
        .key("paired_at")
        .string(to_rfc3339(peer.paired_at));
    if (peer.last_seen_at) writer.key("last_seen_at").string(to_rfc3339(*peer.last_seen_at));
    writer.key("status").string(to_text(peer.status)).key("role").string(role_of(peer.name.type));
    if (!peer.tool_url.empty()) writer.key("tool_url").string(peer.tool_url);
    writer.key("serial_number")
        .string(peer.serial_number)
        .key("not_after")
        .string(to_rfc3339(peer.not_after));
    if (!problem.empty()) writer.key("problem").string_lossy(problem);
    writer.end_object();
}

void append_paired(json::Writer& writer, const Paired& paired) {
    writer.begin_object()
        .key("pairing_id")
        .string(paired.pairing_id)
        .key("endpoint")
        .string(paired.peer.endpoint)
        .key("peer");
    append_peer(writer, paired.peer);
    writer.end_object();
}

std::string pair_result(const PairingResult<Paired>& outcome) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object()
        .key("action")
        .string("pair.result")
        .key("ok")
        .boolean(outcome.has_value());
    if (outcome) {
        writer.key("result");
        append_paired(writer, *outcome);
    } else {
        writer.key("error")
            .string_lossy(outcome.error().message)
            .key("code")
            .string(token_of(outcome.error().code));
    }
    writer.end_object();
    return text;
}

int http_status(PairingCode code) {
    switch (code) {
        case PairingCode::kInvalidArgs:
        case PairingCode::kMtlsRequired: return 400;
        case PairingCode::kPeerExists:
        case PairingCode::kBusy: return 409;
        case PairingCode::kTimeout: return 504;
        case PairingCode::kUnsupportedVersion:
        case PairingCode::kProtocolViolation:
        case PairingCode::kSignatureInvalid:
        case PairingCode::kChallengeFailed:
        case PairingCode::kCertificateRejected:
        case PairingCode::kPersistFailed:
        case PairingCode::kInternal:
        case PairingCode::kGatewayKeyMismatch:
        case PairingCode::kStaleInit:
        case PairingCode::kIdentityMismatch:
        case PairingCode::kCsrRejected:
        case PairingCode::kUnreachable:
        case PairingCode::kRemoteRefused: return 502;
    }
    return 502;
}

std::optional<trust::PeerName> named_peer(net::HttpExchange& exchange,
                                          const net::PathArguments& arguments) {
    const auto type = trust::find_component_type(arguments["component_type"]);
    const std::string& id = arguments["component_id"];
    if (type && trust::is_component_id(id)) return trust::PeerName{*type, id};
    net::respond_unknown_path(exchange);
    return std::nullopt;
}

void refuse_pairing(net::HttpExchange& exchange, const trust::PairingError& error) {
    exchange.respond_error(http_status(error.code), token_of(error.code), error.message);
}

void respond_peer(net::HttpExchange& exchange, const trust::PeerRecord& peer,
                  std::string_view problem) {
    json::Writer writer(exchange.begin_response(200, "application/json"));
    append_peer(writer, peer, problem);
    exchange.finish_response();
}

void respond_unknown_peer(net::HttpExchange& exchange) {
    exchange.respond_error(404, "NOT_FOUND", "no such peer; crab peers list shows them all");
}

}  // namespace crab::rtp

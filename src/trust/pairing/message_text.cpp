#include "trust/pairing/message_text.hpp"

#include "base/encoding.hpp"
#include "crypto/key_text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::trust {
namespace {

std::unexpected<PairingError> violation(std::string message) {
    return refuse(PairingCode::kProtocolViolation, std::move(message));
}

bool has_control_character(std::string_view text) {
    return std::ranges::any_of(text, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
    });
}

/// What no message may hold, at any depth; empty when all is well.
std::string_view flaw_in(const json::Value& value) {
    constexpr std::string_view kControl = "the message holds a control character";
    if (value.is_null()) return "the message holds a null";
    if (const std::string* text = value.as_string())
        return has_control_character(*text) ? kControl : std::string_view();
    if (const auto* items = value.as_array()) {
        for (const json::Value& item : *items) {
            if (const auto flaw = flaw_in(item); !flaw.empty()) return flaw;
        }
    }
    if (const auto* members = value.as_object()) {
        for (const auto& [name, member] : *members) {
            if (has_control_character(name)) return kControl;
            if (const auto flaw = flaw_in(member); !flaw.empty()) return flaw;
        }
    }
    return {};
}

bool is_visible_id(std::string_view text) {
    return !text.empty() && text.size() <= 128 &&
           std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_serial(std::string_view text) {
    return !text.empty() && text.front() != '0' && std::ranges::all_of(text, is_lower_hex);
}

bool is_fingerprint(std::string_view text) {
    constexpr std::string_view kPrefix = "sha256:";
    if (text.size() != kPrefix.size() + 64) return false;
    return std::ranges::equal(text.substr(0, kPrefix.size()), kPrefix, {},
                              [](char c) { return c >= 'A' && c <= 'Z' ? c | 0x20 : c; }) &&
           from_hex(text.substr(kPrefix.size())).has_value();
}

/// Reads required members of one object; remembers the name of the first that is missing or
/// malformed.
class MemberReader {
public:
    MemberReader(const json::Value* object, std::string& bad) : object_(object), bad_(bad) {}

    MemberReader object(std::string_view name) {
        const json::Value* const value = find(name);
        if (value != nullptr && value->is_object()) return {value, bad_};
        reject(name);
        return {nullptr, bad_};
    }
    std::string text(std::string_view name) {
        const json::Value* const value = find(name);
        const std::string* const string = value == nullptr ? nullptr : value->as_string();
        if (string != nullptr) return *string;
        reject(name);
        return {};
    }
    template <class Rule>
    std::string text(std::string_view name, Rule is_well_formed) {
        std::string string = text(name);
        if (!is_well_formed(string)) reject(name);
        return string;
    }
    std::vector<std::string> texts_or_none(std::string_view name) {
        std::vector<std::string> all;
        const json::Value* const value = find(name);
        if (value == nullptr) return all;
        if (!value->is_array()) reject(name);
        for (const json::Value& item :
             value->is_array() ? *value->as_array() : json::Value::Items()) {
            if (const std::string* string = item.as_string()) {
                all.push_back(*string);
            } else {
                reject(name);
            }
        }
        return all;
    }
    std::string base64(std::string_view name) {
        auto bytes = from_base64(text(name));
        if (bytes) return std::move(*bytes);
        reject(name);
        return {};
    }
    template <std::size_t N>
    void bytes(std::string_view name, std::array<std::uint8_t, N>& out) {
        const auto exact = crypto::from_base64_exact<N>(text(name));
        if (exact) {
            out = *exact;
        } else {
            reject(name);
        }
    }
    SignedTime time(std::string_view name) {
        const auto parsed = SignedTime::parse(text(name));
        if (!parsed) reject(name);
        return parsed.value_or(SignedTime{});
    }
    void reject(std::string_view name) {
        if (bad_.empty()) bad_ = name;
    }

private:
    const json::Value* find(std::string_view name) const {
        return object_ == nullptr ? nullptr : object_->find(name);
    }
    const json::Value* object_;
    std::string& bad_;
};

constexpr std::string_view kSignature = "sig_ed25519";

void read(MemberReader in, PairInit& message) {
    MemberReader gateway = in.object("gateway");
    message.gateway_id = gateway.text("gateway_id", is_gateway_id);
    gateway.bytes("public_key_ed25519", message.public_key_ed25519);
    message.nonce = gateway.base64("nonce");
    if (message.nonce.size() < 16 || message.nonce.size() > 64) gateway.reject("nonce");
    message.issued_at = gateway.time("issued_at");
    in.bytes(kSignature, message.signature);
}

void read(MemberReader in, PairIdentity& message) {
    MemberReader remote = in.object("remote");
    const auto type = find_component_type(remote.text("component_type"));
    if (!type) remote.reject("component_type");
    message.component_type = type.value_or(ComponentType::kToolHost);
    message.component_id = remote.text("component_id");
    remote.bytes("public_key_ed25519", message.public_key_ed25519);
    remote.bytes("public_key_x25519", message.public_key_x25519);
    message.mtls_cert_fingerprint = remote.text("mtls_cert_fingerprint", [](std::string_view text) {
        return text.empty() || is_fingerprint(text);
    });
    in.bytes(kSignature, message.signature);
}

void read(MemberReader in, PairChallenge& message) {
    message.challenge_id = in.text("challenge_id", is_visible_id);
    message.ciphertext = in.base64("ciphertext");
    message.aad = in.base64("aad");
}

void read(MemberReader in, PairChallengeResponse& message) {
    message.challenge_id = in.text("challenge_id", is_visible_id);
    message.challenge_plaintext = in.text("challenge_plaintext");
    in.bytes(kSignature, message.signature);
}

void read(MemberReader in, PairCsrRequest& message) {
    message.csr_pem = in.text("csr_pem");
    in.bytes(kSignature, message.signature);
}

void read(MemberReader in, PairCsrIssued& message) {
    message.certificate_pem = in.text("certificate_pem");
    message.certificate_chain_pem = in.texts_or_none("certificate_chain_pem");
    message.serial_number = in.text("serial_number", is_serial);
    message.mtls_cert_fingerprint = in.text("mtls_cert_fingerprint", is_fingerprint);
    message.not_before = in.time("not_before");
    message.not_after = in.time("not_after");
    in.bytes(kSignature, message.signature);
}

void read(MemberReader in, PairCsrInstalled& message) {
    message.mtls_cert_fingerprint = in.text("mtls_cert_fingerprint", is_fingerprint);
    in.bytes(kSignature, message.signature);
}

void read(MemberReader in, PairComplete& message) { message.status = in.text("status"); }

std::string text_or_empty(const json::Value& object, std::string_view name) {
    const json::Value* const value = object.find(name);
    const std::string* const text = value == nullptr ? nullptr : value->as_string();
    return text == nullptr ? std::string() : *text;
}

}  // namespace

PairingResult<MessageText> MessageText::parse(std::string_view text) {
    if (text.size() > kMostMessageBytes) return violation("the message has more than 65536 bytes");
    auto value = json::Value::parse(text);
    if (!value) return violation(value.error().message);
    if (!value->is_object()) return violation("the message is not a JSON object");
    if (const auto flaw = flaw_in(*value); !flaw.empty()) return violation(std::string(flaw));
    return MessageText(std::move(*value));
}

std::optional<PairError> MessageText::as_error() const {
    if (text_or_empty(object_, "type") != PairError::kType) return std::nullopt;
    return PairError{.pairing_id = text_or_empty(object_, "pairing_id"),
                     .code = text_or_empty(object_, "code"),
                     .message = text_or_empty(object_, "message")};
}

template <class Message>
PairingResult<Message> MessageText::as(std::optional<std::string_view> pairing_id) const {
    if (text_or_empty(object_, "type") != Message::kType)
        return violation(fmt::format("expected {}", Message::kType));
    const json::Value* const version = object_.find("version");
    if (version == nullptr || version->as_string() == nullptr)
        return violation(fmt::format("{}: version is missing or malformed", Message::kType));
    if (*version->as_string() != kPairingVersion)
        return refuse(PairingCode::kUnsupportedVersion,
                      fmt::format("only version {} is spoken", kPairingVersion));
    Message message;
    message.pairing_id = text_or_empty(object_, "pairing_id");
    if (pairing_id ? message.pairing_id != *pairing_id : !is_visible_id(message.pairing_id)) {
        return violation(fmt::format("{}: pairing_id is missing, malformed or another handshake's",
                                     Message::kType));
    }
    std::string bad;
    read(MemberReader(&object_, bad), message);
    if (!bad.empty())
        return violation(fmt::format("{}: {} is missing or malformed", Message::kType, bad));
    return message;
}

template PairingResult<PairInit> MessageText::as(std::optional<std::string_view>) const;
template PairingResult<PairIdentity> MessageText::as(std::optional<std::string_view>) const;
template PairingResult<PairChallenge> MessageText::as(std::optional<std::string_view>) const;
template PairingResult<PairChallengeResponse> MessageText::as(
    std::optional<std::string_view>) const;
template PairingResult<PairCsrRequest> MessageText::as(std::optional<std::string_view>) const;
template PairingResult<PairCsrIssued> MessageText::as(std::optional<std::string_view>) const;
template PairingResult<PairCsrInstalled> MessageText::as(std::optional<std::string_view>) const;
template PairingResult<PairComplete> MessageText::as(std::optional<std::string_view>) const;

}  // namespace crab::trust

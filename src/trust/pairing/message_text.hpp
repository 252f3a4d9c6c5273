#pragma once

#include "json/value.hpp"
#include "trust/pairing/messages.hpp"

#include <optional>
#include <string_view>

namespace crab::trust {

/// A text from the other side of a pairing, understood as far as JSON. Names count in exact case,
/// their order does not, unknown members are ignored; but nowhere in the text, unknown members
/// included, may there be a duplicate name, a null, or a control character other than tab, LF and
/// CR. Source: docs/protocols/rtp.md, sections 5.2 and 5.5.
class MessageText {
public:
    /// Errors: kProtocolViolation for more than 65 536 bytes and for what is not one such JSON
    /// object in UTF-8.
    static PairingResult<MessageText> parse(std::string_view text);

    /// What the other side complains of, if this is a pair.error; read with leniency, since it ends
    /// the handshake in any case.
    std::optional<PairError> as_error() const;

    /// The text as a message of this type, checked in the order: type, version, pairing id,
    /// members. `pairing_id` is that of the handshake; nothing for its first message. Errors:
    /// kUnsupportedVersion for another version; kProtocolViolation for the rest.
    template <class Message>
    PairingResult<Message> as(std::optional<std::string_view> pairing_id) const;

private:
    explicit MessageText(json::Value object) : object_(std::move(object)) {}
    json::Value object_;
};

extern template PairingResult<PairInit> MessageText::as(std::optional<std::string_view>) const;
extern template PairingResult<PairIdentity> MessageText::as(std::optional<std::string_view>) const;
extern template PairingResult<PairChallenge> MessageText::as(std::optional<std::string_view>) const;
extern template PairingResult<PairChallengeResponse> MessageText::as(
    std::optional<std::string_view>) const;
extern template PairingResult<PairCsrRequest> MessageText::as(
    std::optional<std::string_view>) const;
extern template PairingResult<PairCsrIssued> MessageText::as(std::optional<std::string_view>) const;
extern template PairingResult<PairCsrInstalled> MessageText::as(
    std::optional<std::string_view>) const;
extern template PairingResult<PairComplete> MessageText::as(std::optional<std::string_view>) const;

}  // namespace crab::trust

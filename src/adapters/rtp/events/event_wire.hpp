#pragma once

#include "base/result.hpp"
#include "core/events/event_filter.hpp"
#include "core/events/event_store.hpp"
#include "json/parser.hpp"

#include <optional>
#include <string>
#include <string_view>

/// Events as docs/protocols/rtp.md, section 9, writes them.
namespace crab::rtp {

/// The publisher as the gateway knows it; overrides what the publisher puts into `source`.
struct EventOrigin {
    std::string_view peer_id;       ///< component id of a paired peer; empty for others
    std::string_view fingerprint;   ///< of its certificate
    std::string_view transport;     ///< `unix_socket`, `mtls_http`, …
};

/// An envelope to be published.
struct PublishedEvent {
    /// The envelope with `source` replaced by the gateway; publisher and step unset
    core::NewEvent event;
    std::string component_type, component_id;   ///< as `source` names them
};
/// Reads one envelope strictly: the schema of spec/event_envelope.schema.json, no member twice, no
/// blank ids, no string outside `payload` and `meta` above 256 bytes. Errors: kInvalidArgs, naming
/// the member.
Result<PublishedEvent> parse_envelope(std::string_view body, json::Parser& parser,
                                      const EventOrigin& origin);

/// The members of an envelope that its event does not have by itself, for events of the gateway.
struct EnvelopeHead {
    std::string_view trace_id, isolation_key = {}, gateway_id, transport = "internal";
    SystemTime occurred_at;
    std::string_view target = {};   ///< the JSON object of `routing.target`; empty: none
};
/// Begins `event.envelope` with its type and ids, up to and with `"payload":`; the caller appends
/// the payload, an object, and the closing brace.
void begin_envelope(core::Event& event, const EnvelopeHead& head);

/// The query of `GET /v1/events`.
struct EventRequest {
    core::EventFilter filter;
    std::string types;                         ///< as asked
    std::string subscription, lease;
    bool remember = true;  ///< extension: false for streams without a stored subscription
    bool earliest = false;
    std::optional<core::EventPosition> cursor;
    /// Not asked: the end of the certificate that the stream is opened with
    std::optional<SystemTime> good_until{};
};
/// Errors: kInvalidArgs for unknown or repeated parameters and bad values.
Result<EventRequest> parse_event_query(std::string_view query);

std::optional<core::EventPosition> parse_cursor(std::string_view text);
/// `{"cursor":"7","event":{…}}`.
void append_delivery(std::string& out, const core::StoredEvent& event);
/// `{"ack":"7"}`.
std::optional<core::EventPosition> parse_ack(std::string_view text, json::Parser& parser);

/// The body of `POST /v1/events/ack`.
struct AckRequest {
    std::string subscription;
    core::EventPosition cursor = 0;
};
Result<AckRequest> parse_ack_request(std::string_view body, json::Parser& parser);

}  // namespace crab::rtp

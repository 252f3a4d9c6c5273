// Any body of an event, any query, any acknowledgement: read or refused with a reason, and what was
// read is written as an envelope of the same schema that reads as the same event.

#include "adapters/rtp/events/event_wire.hpp"
#include "base/fuzz_check.hpp"
#include "json/value.hpp"

namespace {

using namespace crab;

void check_envelope(std::string_view body, json::Parser& parser) {
    constexpr rtp::EventOrigin kOrigin{
        .peer_id = "peer", .fingerprint = "sha256:00", .transport = "mtls_http"};
    const auto published = rtp::parse_envelope(body, parser, kOrigin);
    if (!published) return require(!published.error().message.empty());
    const core::Event& event = published->event.event;
    require(!event.event_id.empty() && event.event_id.size() <= 256 && !event.tenant.empty() &&
            !event.agent_id.empty() && !event.session_id.empty());
    require(!published->component_id.empty());
    const auto written = json::Value::parse(event.envelope);
    require(written.has_value());
    require(*written->resolve("/source/peer_id")->as_string() == "peer");
    const auto again = rtp::parse_envelope(event.envelope, parser, kOrigin);
    require(again.has_value());
    require(again->event.event.envelope == event.envelope &&
            again->event.content == published->event.content);
    require(again->event.event.event_id == event.event_id && again->event.event.type == event.type);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 16 << 10;
    if (size > kMost) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    static json::Parser parser;
    check_envelope(text, parser);
    const auto request = rtp::parse_event_query(text);
    if (request) {
        require(request->subscription.size() <= 256 && request->lease.size() <= 256);
        require(!request->cursor || *request->cursor >= 0);
        require(!(request->earliest && request->cursor));
        require(!request->filter.types.empty());
    } else {
        require(!request.error().message.empty());
    }
    if (const auto position = rtp::parse_ack(text, parser)) require(*position >= 0);
    if (const auto ack = rtp::parse_ack_request(text, parser))
        require(ack->cursor >= 0 && ack->subscription.size() <= 256);
    return 0;
}

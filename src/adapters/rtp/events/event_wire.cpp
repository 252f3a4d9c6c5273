#include "adapters/rtp/events/event_wire.hpp"

#include "base/whole_number.hpp"
#include "core/call/content_digest.hpp"
#include "json/element.hpp"
#include "json/schema/format.hpp"
#include "json/writer.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

using core::EventType;
using json::Element;

constexpr std::size_t kMaxText = 256;
constexpr std::array<std::string_view, 7> kComponentTypes{
    "listener", "gateway", "subscriber", "cron", "tool_host", "provider", "operator"};
constexpr std::array<std::string_view, 6> kTransports{"unix_socket", "http",    "ws",
                                                      "mtls_http",   "mtls_ws", "internal"};
constexpr std::array<std::string_view, 5> kSourceTexts{"platform", "channel_id", "actor_id",
                                                       "message_id", "request_id"};
constexpr std::array<std::string_view, 4> kTargetTexts{"platform", "channel_id", "thread_id",
                                                       "address"};

std::unexpected<Error> bad(std::string message) {
    return fail(ErrorCode::kInvalidArgs, std::move(message));
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}
bool is_one_of(std::string_view text, std::span<const std::string_view> words) {
    return std::ranges::find(words, text) != words.end();
}

/// A text of at most kMaxText bytes.
Result<std::string_view> text_of(std::string_view pointer, Element value) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS)
        return bad(fmt::format("{}: must be a string", pointer));
    if (text.size() > kMaxText) return bad(fmt::format("{}: at most {} bytes", pointer, kMaxText));
    return text;
}

/// The same for a member that must be there and not blank.
Result<std::string_view> required_text(std::string_view parent, Element object,
                                       std::string_view key) {
    const std::string pointer = fmt::format("{}/{}", parent, key);
    const auto member = json::get(object, key);
    if (!member) return bad(pointer + ": required");
    const auto text = text_of(pointer, *member);
    if (text && is_blank(*text)) return bad(pointer + ": must not be blank");
    return text;
}

/// An object with none but these members, none twice.
Result<void> check_object(std::string_view pointer, std::optional<Element> value,
                          std::span<const std::string_view> members) {
    if (!value) return bad(fmt::format("{}: required", pointer));
    json::Object object;
    if (value->get(object) != simdjson::SUCCESS)
        return bad(fmt::format("{}: must be an object", pointer));
    for (const auto member : object) {
        if (!is_one_of(member.key, members))
            return bad(fmt::format("{}/{}: unknown member; remove it", pointer, member.key));
    }
    if (json::has_duplicate_members(*value))
        return bad(fmt::format("{}: has two members of one name",
                               pointer.empty() ? "the event" : pointer));
    return {};
}

/// `payload` and `meta` are free inside.
Result<void> check_free_object(std::string_view pointer, Element value) {
    if (!value.is_object()) return bad(fmt::format("{}: must be an object", pointer));
    if (json::has_duplicate_members(value))
        return bad(fmt::format("{}: has two members of one name", pointer));
    return {};
}

/// Checks `source` and rewrites it.
Result<void> read_source(Element source, const EventOrigin& origin, json::Writer& writer,
                         PublishedEvent& published) {
    constexpr std::array<std::string_view, 10> kMembers{
        "component_type", "component_id", "platform",
        "channel_id",     "actor_id",     "message_id",
        "request_id",     "peer_id",      "mtls_cert_fingerprint",
        "transport"};
    if (auto checked = check_object("/source", source, kMembers); !checked) return checked;
    const auto type = required_text("/source", source, "component_type");
    if (!type) return fail(type.error());
    if (!is_one_of(*type, kComponentTypes))
        return bad("/source/component_type: must be one of " +
                   fmt::format("{}", fmt::join(kComponentTypes, ", ")));
    const auto id = required_text("/source", source, "component_id");
    if (!id) return fail(id.error());
    published.component_type = *type;
    published.component_id = *id;
    writer.key("source")
        .begin_object()
        .key("component_type")
        .string(*type)
        .key("component_id")
        .string(*id);
    for (const std::string_view key : kSourceTexts) {
        const auto member = json::get(source, key);
        if (!member) continue;
        const auto text = text_of(fmt::format("/source/{}", key), *member);
        if (!text) return fail(text.error());
        writer.key(key).string(*text);
    }
    // What the gateway knows better is checked and replaced.
    for (const std::string_view key : {"peer_id", "mtls_cert_fingerprint", "transport"}) {
        const auto member = json::get(source, key);
        const auto text = member ? text_of(fmt::format("/source/{}", key), *member)
                                 : Result<std::string_view>("");
        if (!text) return fail(text.error());
        if (member && key == "transport" && !is_one_of(*text, kTransports))
            return bad("/source/transport: unknown");
    }
    if (!origin.peer_id.empty()) writer.key("peer_id").string(origin.peer_id);
    if (!origin.fingerprint.empty()) writer.key("mtls_cert_fingerprint").string(origin.fingerprint);
    writer.key("transport").string(origin.transport).end_object();
    return {};
}

Result<void> check_routing(Element routing, core::Event& event) {
    constexpr std::array<std::string_view, 5> kMembers{"agent_id", "session_id", "isolation_key",
                                                       "policy_tags", "target"};
    if (auto checked = check_object("/routing", routing, kMembers); !checked) return checked;
    const auto agent = required_text("/routing", routing, "agent_id");
    if (!agent) return fail(agent.error());
    const auto session = required_text("/routing", routing, "session_id");
    if (!session) return fail(session.error());
    event.agent_id = *agent;
    event.session_id = *session;
    if (const auto key = json::get(routing, "isolation_key")) {
        if (const auto text = text_of("/routing/isolation_key", *key); !text)
            return fail(text.error());
    }
    if (const auto tags = json::get(routing, "policy_tags")) {
        json::Array array;
        if (tags->get(array) != simdjson::SUCCESS)
            return bad("/routing/policy_tags: must be an array");
        for (const Element tag : array) {
            if (const auto text = text_of("/routing/policy_tags", tag); !text)
                return fail(text.error());
        }
    }
    if (const auto target = json::get(routing, "target")) {
        if (auto checked = check_object("/routing/target", *target, kTargetTexts); !checked)
            return checked;
        for (const auto member : target->get_object().value_unsafe()) {
            if (const auto text = text_of("/routing/target", member.value); !text)
                return fail(text.error());
        }
    }
    return {};
}

/// What repeats of an event agree in: all but what names and dates it.
core::ContentDigest content_of(Element root) {
    std::string content;
    for (const std::string_view key : {"event_type", "tenant_id", "routing", "payload", "meta"}) {
        content += '/';
        if (const auto member = json::get(root, key)) core::append_canonical(content, *member);
    }
    return crypto::sha256(content);
}

bool is_end_of_call(EventType type) {
    return type == EventType::kToolCallCompleted || type == EventType::kToolCallFailed;
}

/// What names and dates the event, and its type.
Result<void> read_head(Element root, json::Writer& writer, core::Event& event) {
    for (const std::string_view key :
         {"version", "event_id", "trace_id", "tenant_id", "occurred_at", "event_type"}) {
        const auto text = required_text("", root, key);
        if (!text) return fail(text.error());
        writer.key(key).string(*text);
        if (key == "version" && *text != "v1") return bad("/version: must be \"v1\"");
        if (key == "event_id") event.event_id = *text;
        if (key == "tenant_id") event.tenant = *text;
        if (key == "occurred_at" && !json::formats::is_date_time(*text))
            return bad("/occurred_at: must be a date and time of RFC 3339");
        if (key != "event_type") continue;
        const auto type = core::find_event_type(*text);
        if (!type) return bad(fmt::format("/event_type: there is no type '{}'", *text));
        event.type = *type;
    }
    return {};
}

/// What it says, and about which call if it is the end of one.
Result<void> read_payload(Element root, json::Writer& writer, PublishedEvent& published) {
    const auto payload = json::get(root, "payload");
    if (!payload) return bad("/payload: required");
    if (auto checked = check_free_object("/payload", *payload); !checked) return checked;
    writer.key("payload").raw(json::to_text(*payload));
    if (is_end_of_call(published.event.event.type)) {
        const auto call_id = required_text("/payload", *payload, "call_id");
        if (!call_id) return fail(call_id.error());
        published.event.call_id = *call_id;
    }
    if (const auto meta = json::get(root, "meta")) {
        if (auto checked = check_free_object("/meta", *meta); !checked) return checked;
        writer.key("meta").raw(json::to_text(*meta));
    }
    return {};
}

Result<void> read_idempotency_key(Element root, json::Writer& writer, PublishedEvent& published) {
    const auto key = json::get(root, "idempotency_key");
    if (!key) return {};
    const auto text = text_of("/idempotency_key", *key);
    if (!text) return fail(text.error());
    if (is_blank(*text)) return bad("/idempotency_key: must not be blank");
    published.event.idempotency_key = *text;
    writer.key("idempotency_key").string(*text);
    return {};
}

}  // namespace

Result<PublishedEvent> parse_envelope(std::string_view body, json::Parser& parser,
                                      const EventOrigin& origin) {
    constexpr std::array<std::string_view, 11> kMembers{
        "version", "event_id", "trace_id", "tenant_id", "occurred_at",    "event_type",
        "source",  "routing",  "payload",  "meta",      "idempotency_key"};
    const auto parsed = parser.parse(body);
    if (!parsed) return fail(parsed.error());
    const Element root = parsed->element();
    if (!root.is_object()) return bad("the event must be a JSON object");
    if (auto checked = check_object("", root, kMembers); !checked) return fail(checked.error());
    PublishedEvent published;
    core::Event& event = published.event.event;
    event.envelope.reserve(body.size() + 128);
    json::Writer writer(event.envelope);
    writer.begin_object();
    if (auto read = read_head(root, writer, event); !read) return fail(read.error());
    const auto source = json::get(root, "source");
    if (!source) return bad("/source: required");
    if (auto read = read_source(*source, origin, writer, published); !read)
        return fail(read.error());
    const auto routing = json::get(root, "routing");
    if (!routing) return bad("/routing: required");
    if (auto checked = check_routing(*routing, event); !checked) return fail(checked.error());
    writer.key("routing").raw(json::to_text(*routing));
    if (auto read = read_payload(root, writer, published); !read) return fail(read.error());
    if (auto read = read_idempotency_key(root, writer, published); !read) return fail(read.error());
    writer.end_object();
    published.event.content = content_of(root);
    return published;
}

void begin_envelope(core::Event& event, const EnvelopeHead& head) {
    event.envelope.clear();
    json::Writer writer(event.envelope);
    writer.begin_object()
        .key("version")
        .string("v1")
        .key("event_id")
        .string(event.event_id)
        .key("trace_id")
        .string_lossy(head.trace_id);
    writer.key("tenant_id")
        .string_lossy(event.tenant)
        .key("occurred_at")
        .string(Rfc3339Text(head.occurred_at).view());
    writer.key("event_type").string(core::name_of(event.type));
    writer.key("source")
        .begin_object()
        .key("component_type")
        .string("gateway")
        .key("component_id")
        .string(head.gateway_id);
    writer.key("transport").string(head.transport).end_object();
    writer.key("routing")
        .begin_object()
        .key("agent_id")
        .string_lossy(event.agent_id)
        .key("session_id")
        .string_lossy(event.session_id);
    if (!head.isolation_key.empty()) writer.key("isolation_key").string_lossy(head.isolation_key);
    if (!head.target.empty()) writer.key("target").raw(head.target);
    writer.end_object().key("payload");
}

std::optional<core::EventPosition> parse_cursor(std::string_view text) {
    const auto position = parse_whole_number<core::EventPosition>(text);
    return position && *position >= 0 ? position : std::nullopt;
}

Result<EventRequest> parse_event_query(std::string_view query) {
    EventRequest request;
    std::string problem;
    std::vector<std::string> seen;
    net::for_each_query(query, [&](std::string_view raw_name, std::string_view raw_value) {
        const std::string name = net::form_decode(raw_name);
        std::string value = net::form_decode(raw_value);
        if (std::ranges::find(seen, name) != seen.end())
            problem = fmt::format("{}: given twice", name);
        seen.push_back(name);
        if (value.size() > kMaxText || !simdjson::validate_utf8(value.data(), value.size()))
            problem = fmt::format("{}: at most {} bytes of UTF-8", name, kMaxText);
        if (name == "types") {
            auto types = core::EventTypes::parse(value);
            if (!types)
                problem = types.error().message;
            else
                request.filter.types = *types;
            request.types = std::move(value);
        } else if (name == "tenant_id") {
            request.filter.tenant = std::move(value);
        } else if (name == "agent_id") {
            request.filter.agent_id = std::move(value);
        } else if (name == "session_id") {
            request.filter.session_id = std::move(value);
        } else if (name == "subscription") {
            request.subscription = std::move(value);
        } else if (name == "lease") {
            request.lease = std::move(value);
        } else if (name == "remember") {
            if (value != "true" && value != "false") problem = "remember: must be true or false";
            request.remember = value != "false";
        } else if (name == "cursor") {
            request.earliest = value == "earliest";
            if (!request.earliest) request.cursor = parse_cursor(value);
            if (!request.earliest && !request.cursor)
                problem = "cursor: must be earliest, or one that came with an event";
        } else {
            problem = fmt::format("{}: unknown parameter", name);
        }
        return problem.empty();
    });
    if (!problem.empty()) return bad(std::move(problem));
    return request;
}

void append_delivery(std::string& out, const core::StoredEvent& event) {
    fmt::format_to(std::back_inserter(out), R"({{"cursor":"{}","event":)", event.position);
    out += event.event.envelope;
    out += '}';
}

std::optional<core::EventPosition> parse_ack(std::string_view text, json::Parser& parser) {
    const auto root = parser.parse(text);
    if (!root) return std::nullopt;
    const auto cursor = json::get_string(root->element(), "ack");
    return cursor ? parse_cursor(*cursor) : std::nullopt;
}

Result<AckRequest> parse_ack_request(std::string_view body, json::Parser& parser) {
    constexpr std::array<std::string_view, 2> kMembers{"subscription", "cursor"};
    const auto root = parser.parse(body);
    if (!root) return fail(root.error());
    if (!root->element().is_object()) return bad("the request must be a JSON object");
    if (auto checked = check_object("", root->element(), kMembers); !checked)
        return fail(checked.error());
    AckRequest request;
    if (const auto name = json::get(root->element(), "subscription")) {
        const auto text = text_of("/subscription", *name);
        if (!text) return fail(text.error());
        request.subscription = *text;
    }
    const auto cursor = required_text("", root->element(), "cursor");
    if (!cursor) return fail(cursor.error());
    const auto position = parse_cursor(*cursor);
    if (!position) return bad("/cursor: must be one that came with an event");
    request.cursor = *position;
    return request;
}

}  // namespace crab::rtp

#include "adapters/mcp/wire/message_reader.hpp"

#include "json/duplicates.hpp"
#include "json/raw_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace crab::mcp {
namespace {

using Reading = std::expected<void, Refusal>;

std::unexpected<Refusal> refuse(std::int64_t code, std::string why,
                                std::optional<RequestId> id = {}) {
    return std::unexpected(Refusal{.error = {.code = code, .message = std::move(why), .data = {}},
                                   .id = std::move(id)});
}

std::unexpected<Refusal> refuse_text(const Error& error) {
    const bool large = error.code == ErrorCode::kOversize;
    auto refusal = refuse(large ? rpc_code::kInvalidRequest : rpc_code::kParseError, error.message);
    if (large) refusal.error().http_status = 413;
    return refusal;
}

/// The members of the envelope, each found once.
struct Envelope {
    std::optional<json::Element> jsonrpc, id, method, params, result, error;

    /// `meta`: becomes that of the params.
    Envelope(const json::Root& root, json::Object object, RequestMeta& meta) {
        json::TokenParts parts = root.members();
        for (const auto field : object) {
            parts.next();
            std::optional<json::Element>* const slot = find(field.key);
            if (slot == nullptr || *slot) continue;
            if (slot == &params) {
                json::TokenParts inside = parts.inside();
                read_request_meta(inside, meta);
                parts.passed(inside);
            }
            *slot = field.value;
        }
    }

private:
    std::optional<json::Element>* find(std::string_view name) {
        if (name == "jsonrpc") return &jsonrpc;
        if (name == "id") return &id;
        if (name == "method") return &method;
        if (name == "params") return &params;
        if (name == "result") return &result;
        if (name == "error") return &error;
        return nullptr;
    }
};

bool says_two_point_zero(const std::optional<json::Element>& member) {
    std::string_view text;
    return member && member->get(text) == simdjson::SUCCESS && text == "2.0";
}

std::expected<RpcError, std::string> read_error(const json::Root& root, json::Element member) {
    const auto code = json::get_int64(member, "code");
    const auto message = json::get_string(member, "message");
    if (!code || !message)
        return std::unexpected("`error` needs an integer `code` and a `message`");
    RpcError error{.code = *code, .message = std::string(*message), .data = {}};
    if (const auto data = json::get(member, "data")) error.data = root.raw(*data);
    return error;
}

Reading read_response(const json::Root& root, const Envelope& envelope, std::optional<RequestId> id,
                      Message& message) {
    if (envelope.result && envelope.error)
        return refuse(rpc_code::kInvalidRequest, "a response has `result` or `error`, not both",
                      id);
    if (envelope.result) {
        if (!id) return refuse(rpc_code::kInvalidRequest, "a result needs the `id` of its request");
        if (!envelope.result->is_object())
            return refuse(rpc_code::kInvalidRequest, "`result` is no object", id);
        message.kind = Message::Kind::kResult;
        message.result = root.raw(*envelope.result);
    } else {
        auto error = read_error(root, *envelope.error);
        if (!error) return refuse(rpc_code::kInvalidRequest, std::move(error.error()), id);
        message.kind = Message::Kind::kError;
        message.error = std::move(*error);
    }
    message.is_ambiguous = root.repeats_names();
    message.id = std::move(id);
    return {};
}

Reading read_asking(const json::Root& root, const Envelope& envelope, std::optional<RequestId> id,
                    Message& message, const json::Parser& parser) {
    std::string_view method;
    if (envelope.result || envelope.error) {
        return refuse(rpc_code::kInvalidRequest, "a message is a request or a response, not both",
                      id);
    }
    if (envelope.method->get(method) != simdjson::SUCCESS || method.empty())
        return refuse(rpc_code::kInvalidRequest, "`method` is no name", id);
    if (envelope.params && !envelope.params->is_object())
        return refuse(rpc_code::kInvalidRequest, "`params` is no object", id);
    if (const auto twice = root.find_duplicate()) {
        return refuse(rpc_code::kInvalidRequest, fmt::format("there are two members {}", *twice),
                      id);
    }
    message.kind = id ? Message::Kind::kRequest : Message::Kind::kNotification;
    message.method = method;
    if (envelope.params) {
        message.params = root.raw(*envelope.params);
        message.parsed_params = parser.lend(*envelope.params);
    }
    message.id = std::move(id);
    return {};
}

/// `message` is empty, and means nothing if this fails.
Reading read_root(const json::Root& root, Message& message, const json::Parser& parser) {
    if (root.element().is_array())
        return refuse(rpc_code::kInvalidRequest,
                      "batches are taken in sessions of 2025-03-26 only: send one message");
    json::Object object;
    if (root.element().get(object) != simdjson::SUCCESS)
        return refuse(rpc_code::kInvalidRequest, "a message is a JSON object");
    const Envelope envelope(root, object, message.meta);
    std::optional<RequestId> id;
    if (envelope.id) id = RequestId::read(root.raw(*envelope.id));
    if (root.repeats_names() && json::has_duplicate_members(root.element()))
        return refuse(rpc_code::kInvalidRequest, "a member of the message is there twice");
    if (!says_two_point_zero(envelope.jsonrpc))
        return refuse(rpc_code::kInvalidRequest, "`jsonrpc` has to be \"2.0\"", id);
    const bool null_id = envelope.id && envelope.id->is_null();
    // what could not be read has no id, and an error may say so with null
    if (envelope.id && !id && !(null_id && envelope.error && !envelope.method)) {
        return refuse(rpc_code::kInvalidRequest,
                      "`id` is a string of at most 256 bytes or an integer within 2^53");
    }
    if (envelope.method) return read_asking(root, envelope, std::move(id), message, parser);
    if (envelope.result || envelope.error)
        return read_response(root, envelope, std::move(id), message);
    return refuse(rpc_code::kInvalidRequest, "a message has `method`, `result` or `error`", id);
}

std::expected<Body, Refusal> read_batch(std::string_view text, json::Parser& parser) {
    std::vector<std::string_view> members;
    for (json::RawParts parts(text); parts.next();) {
        if (members.size() == kMaxBatch) {
            return refuse(rpc_code::kInvalidRequest,
                          fmt::format("a batch has at most {} messages", kMaxBatch));
        }
        members.push_back(parts.value());
    }
    if (members.empty()) return refuse(rpc_code::kInvalidRequest, "a batch has a message at least");
    Body body{.is_batch = true, .messages = {}};
    for (const std::string_view member : members) {
        MessageReading reading = read_message(member, parser);
        if (reading) reading->parsed_params.reset();  // the parser goes on
        if (reading && reading->method == "initialize")
            return refuse(rpc_code::kInvalidRequest, "`initialize` comes alone, not in a batch");
        body.messages.push_back(std::move(reading));
    }
    return body;
}

}  // namespace

MessageReading read_message(std::string_view text, json::Parser& parser) {
    MessageReading reading{std::in_place};
    if (auto read = read_message(text, parser, *reading); !read)
        reading = std::unexpected(std::move(read.error()));
    return reading;
}

Reading read_message(std::string_view text, json::Parser& parser, Message& message) {
    const auto root = parser.parse(text);
    return root ? read_root(*root, message, parser) : refuse_text(root.error());
}

std::expected<Body, Refusal> read_body(std::string_view text, json::Parser& parser) {
    const auto root = parser.parse(text);
    if (!root) return refuse_text(root.error());
    if (root->element().is_array()) return read_batch(text, parser);
    std::expected<Body, Refusal> body;
    MessageReading& message = body->messages.emplace_back(std::in_place);
    if (auto read = read_root(*root, *message, parser); !read)
        return std::unexpected(std::move(read.error()));
    return body;
}

}  // namespace crab::mcp

#include "agent/anthropic_messages.hpp"

#include "agent/history.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

namespace crab::agent {
namespace {

using json::Element;

constexpr std::string_view kVersion = "2023-06-01";
constexpr std::int64_t kDefaultMaxTokens = 8'192;
constexpr std::size_t kMostSignature = std::size_t{256} << 10;
constexpr std::size_t kMostRedacted = std::size_t{2} << 20;

int status_of(std::string_view error_type) {
    if (error_type == "overloaded_error") return 529;
    if (error_type == "rate_limit_error") return 429;
    if (error_type == "authentication_error" || error_type == "permission_error") return 401;
    if (error_type == "not_found_error") return 404;
    if (error_type == "api_error" || error_type == "timeout_error") return 500;
    return 400;
}

class MessagesReader final : public AnswerReader {
public:
    explicit MessagesReader(AnswerSink& sink) : AnswerReader(sink) {}

    Result<void> on_event(std::string_view, std::string_view data) override {
        const auto root = parser_.parse(data);
        if (!root)
            return fail(ErrorCode::kInternal,
                        "the model's stream holds something that is not JSON");
        const Element event = root->element();
        const std::string_view type = json::get_string(event, "type").value_or("");
        const std::int64_t place = json::get_int64(event, "index").value_or(0);
        if (type == "content_block_delta") return on_delta(json::get(event, "delta"), place);
        if (type == "content_block_start")
            return on_block(json::get(event, "content_block"), place);
        if (type == "content_block_stop") {
            end_thought(place);
        } else if (type == "message_start") {
            if (const auto message = json::get(event, "message"))
                take_usage(json::get(*message, "usage"));
        } else if (type == "message_delta") {
            if (const auto delta = json::get(event, "delta")) {
                const auto reason = json::get_string(*delta, "stop_reason");
                if (reason) take_stop_reason(*reason);
            }
            take_usage(json::get(event, "usage"));
        } else if (type == "message_stop") {
            stopped_ = true;
            return builder_.end_text();
        } else if (type == "error") {
            const auto error = json::get(event, "error");
            const std::string_view kind =
                error ? json::get_string(*error, "type").value_or("") : "";
            return fail(refusal(status_of(kind), refusal_text(data)));
        }
        return {};  // `ping`, and what may be added
    }
    Result<void> on_whole(std::string_view body) override {
        const auto root = parser_.parse(body);
        if (!root) return fail(ErrorCode::kInternal, "the model's answer is not JSON");
        const Element message = root->element();
        const auto content = json::get_array(message, "content");
        if (!content) return on_event({}, body);  // an error, or nothing that is known
        std::int64_t place = 0;
        for (const Element block : *content) {
            if (auto taken = on_block(block, place); !taken) return taken;
            end_thought(place++);
        }
        if (const auto reason = json::get_string(message, "stop_reason")) take_stop_reason(*reason);
        take_usage(json::get(message, "usage"));
        stopped_ = true;
        return builder_.end_text();
    }
    bool whole() const override { return stopped_ || ended_; }
    bool finished() const override { return stopped_; }

private:
    void take_stop_reason(std::string_view reason) {
        ended_ = true;
        builder_.answer.cut_short =
            reason == "max_tokens" || reason == "model_context_window_exceeded";
        builder_.answer.withheld = reason == "refusal";
    }
    Result<void> on_block(std::optional<Element> block, std::int64_t place) {
        if (!block) return {};
        const std::string_view type = json::get_string(*block, "type").value_or("");
        if (type == "text") return builder_.text(json::get_string(*block, "text").value_or(""));
        if (type == "thinking") {
            thought_ = {
                .place = place,
                .text = std::string(json::get_string(*block, "thinking").value_or("")),
                .signature = std::string(json::get_string(*block, "signature").value_or(""))};
            return builder_.thinking(thought_->text);
        }
        if (type == "redacted_thinking")
            return keep_redacted(json::get_string(*block, "data").value_or(""));
        if (type != "tool_use") return {};
        auto begun = builder_.begin_request(place, json::get_string(*block, "id").value_or(""),
                                            json::get_string(*block, "name").value_or(""));
        const auto input = json::get(*block, "input");
        if (!begun || !input || !input->is_object()) return begun;
        // Some servers of this kind give the arguments here, whole, and no pieces of them.
        const std::string whole = json::to_text(*input);
        return whole == "{}" ? begun : builder_.arguments(place, whole);
    }
    Result<void> on_delta(std::optional<Element> delta, std::int64_t place) {
        if (!delta) return {};
        const std::string_view type = json::get_string(*delta, "type").value_or("");
        if (type == "text_delta")
            return builder_.text(json::get_string(*delta, "text").value_or(""));
        if (type == "thinking_delta") {
            const std::string_view piece = json::get_string(*delta, "thinking").value_or("");
            if (thought_ && thought_->place == place) thought_->text += piece;
            return builder_.thinking(piece);
        }
        if (type == "signature_delta") {
            const std::string_view piece = json::get_string(*delta, "signature").value_or("");
            if (!thought_ || thought_->place != place) return {};
            if (thought_->signature.size() + piece.size() > kMostSignature)
                return fail(ErrorCode::kOversize,
                            "the signature of the model's reasoning had no end");
            thought_->signature += piece;
            return {};
        }
        if (type == "input_json_delta")
            return builder_.arguments(place, json::get_string(*delta, "partial_json").value_or(""));
        return {};
    }
    /// A block of thinking as it has to come back, in `reasoning.text`: blocks separated by commas.
    /// One without a signature would be refused.
    void end_thought(std::int64_t place) {
        if (!thought_ || thought_->place != place) return;
        if (!thought_->signature.empty()) {
            std::string block;
            json::Writer(block)
                .begin_object()
                .key("type")
                .string("thinking")
                .key("thinking")
                .string_lossy(thought_->text)
                .key("signature")
                .string_lossy(thought_->signature)
                .end_object();
            keep(block);
        }
        thought_.reset();
    }
    Result<void> keep_redacted(std::string_view data) {
        if (builder_.answer.reasoning.text.size() + data.size() > kMostRedacted)
            return fail(ErrorCode::kOversize, "the model's reasoning had no end");
        std::string block;
        json::Writer(block)
            .begin_object()
            .key("type")
            .string("redacted_thinking")
            .key("data")
            .string_lossy(data)
            .end_object();
        keep(block);
        return {};
    }
    void keep(std::string_view block) {
        std::string& blocks = builder_.answer.reasoning.text;
        if (!blocks.empty()) blocks += ',';
        blocks += block;
    }
    /// Counts are of the whole message so far, so each replaces the one before.
    void take_usage(std::optional<Element> usage) {
        if (!usage) return;
        ModelUsage& counted = builder_.answer.usage;
        if (const auto output = json::get_int64(*usage, "output_tokens")) counted.output = *output;
        counted.told = true;
        if (const auto cached = json::get_int64(*usage, "cache_read_input_tokens"))
            counted.cached = *cached;
        if (const auto input = json::get_int64(*usage, "input_tokens")) {
            counted.input = *input +
                            json::get_int64(*usage, "cache_read_input_tokens").value_or(0) +
                            json::get_int64(*usage, "cache_creation_input_tokens").value_or(0);
        }
    }

    json::Parser parser_{json::Limits{.max_bytes = std::size_t{2} << 20, .max_depth = 64}};
    struct ThinkingBlock {
        std::int64_t place = 0;
        std::string text, signature;
    };
    /// The block that is being made; its text is bounded by the builder
    std::optional<ThinkingBlock> thought_;
    bool ended_ = false;  ///< a stop_reason was given
    bool stopped_ = false;  ///< message_stop
};

std::string_view role_of(const Message& message) {
    return message.role == MessageRole::kAssistant ? "assistant" : "user";
}

/// The API takes no block of white space.
bool says_something(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") != std::string_view::npos;
}

/// Whether this model may think now: within a turn it has to be shown all its earlier thoughts, so
/// one that came in for another, or whose thoughts are lost, goes on without.
bool may_think(const Conversation& messages, const ModelSettings& settings) {
    if (settings.thinking_tokens <= 0) return false;
    for (std::size_t i = messages.size(); i > 0 && messages[i - 1].role != MessageRole::kUser;
         --i) {
        const Message& message = messages[i - 1];
        if (message.role == MessageRole::kAssistant &&
            (message.reasoning.text.empty() || message.reasoning.model != settings.model))
            return false;
    }
    return true;
}

void write_image(json::Writer& writer, const Picture& picture) {
    if (!picture.base64) return;
    writer.begin_object()
        .key("type")
        .string("image")
        .key("source")
        .begin_object()
        .key("type")
        .string("base64")
        .key("media_type")
        .string_lossy(picture.mime_type);
    writer.key("data").string(*picture.base64).end_object().end_object();
}

void write_blocks(json::Writer& writer, const Message& message, const ToolNames& names,
                  const std::string* thinker, bool sees) {
    if (message.role == MessageRole::kTool) {
        writer.begin_object()
            .key("type")
            .string("tool_result")
            .key("tool_use_id")
            .string(fit_for_models(message.request_id));
        if (sees && has_shown(message)) {
            writer.key("content").begin_array();
            if (says_something(message.text))
                writer.begin_object()
                    .key("type")
                    .string("text")
                    .key("text")
                    .string_lossy(message.text)
                    .end_object();
            for (const Picture& picture : message.pictures) write_image(writer, picture);
            writer.end_array();
        } else if (!message.text.empty()) {
            writer.key("content").string_lossy(message.text);
        }
        if (message.text.starts_with("Error: ")) writer.key("is_error").boolean(true);
        writer.end_object();
        return;
    }
    if (thinker != nullptr && !message.reasoning.text.empty() &&
        message.reasoning.model == *thinker)
        writer.raw(message.reasoning.text);
    if (sees) {
        for (const Picture& picture : message.pictures) write_image(writer, picture);
    }
    const std::string blind = sees ? std::string() : with_blind_note(message);
    const std::string& text = blind.empty() ? message.text : blind;
    if (says_something(text))
        writer.begin_object()
            .key("type")
            .string("text")
            .key("text")
            .string_lossy(text)
            .end_object();
    for (const ToolRequest& request : message.requests) {
        writer.begin_object()
            .key("type")
            .string("tool_use")
            .key("id")
            .string(fit_for_models(request.id))
            .key("name")
            .string(names.to_model(request.tool));
        writer.key("input")
            .raw(request.args.empty() ? "{}" : std::string_view(request.args))
            .end_object();
    }
}

}  // namespace

net::OwnedHeaders AnthropicMessages::headers(const Secret<std::string>& key) const {
    net::OwnedHeaders headers{{"Accept", "text/event-stream"},
                              {"anthropic-version", std::string(kVersion)}};
    if (!key.reveal().empty()) headers.emplace_back("x-api-key", key.reveal());
    return headers;
}

void AnthropicMessages::write(std::string& out, const ModelRequest& request, const ToolNames& names,
                              const ModelSettings& settings) const {
    json::Writer writer(out);
    writer.begin_object().key("model").string_lossy(settings.model).key("stream").boolean(true);
    const bool thinks = may_think(request.messages, settings);
    const std::int64_t answer_tokens =
        settings.max_output_tokens > 0 ? settings.max_output_tokens : kDefaultMaxTokens;
    // both are counted together
    writer.key("max_tokens").integer(answer_tokens + (thinks ? settings.thinking_tokens : 0));
    if (thinks)
        writer.key("thinking")
            .begin_object()
            .key("type")
            .string("enabled")
            .key("budget_tokens")
            .integer(settings.thinking_tokens)
            .end_object();
    if (!request.system.empty()) writer.key("system").string_lossy(request.system);
    writer.key("messages").begin_array();
    std::string_view open;  // the role of the message that is being written
    for (const Message& message : request.messages) {
        if (!says_something(message.text) && message.requests.empty() &&
            message.role != MessageRole::kTool && !has_shown(message))
            continue;
        if (role_of(message) != open) {
            if (!open.empty()) writer.end_array().end_object();
            open = role_of(message);
            writer.begin_object().key("role").string(open).key("content").begin_array();
        }
        write_blocks(writer, message, names, thinks ? &settings.model : nullptr, settings.sees);
    }
    if (!open.empty()) writer.end_array().end_object();
    writer.end_array();
    if (!request.tools.empty()) {
        writer.key("tools").begin_array();
        for (const OfferedToolRef& tool : request.tools) {
            writer.begin_object()
                .key("name")
                .string(names.to_model(tool->name))
                .key("description")
                .string_lossy(tool->description);
            writer.key("input_schema").raw(tool->schema).end_object();
        }
        writer.end_array();
        if (!request.may_call)
            writer.key("tool_choice").begin_object().key("type").string("none").end_object();
    }
    writer.end_object();
}

std::unique_ptr<AnswerReader> AnthropicMessages::reader(AnswerSink& sink) const {
    return std::make_unique<MessagesReader>(sink);
}

}  // namespace crab::agent

#include "agent/chat_completions.hpp"

#include "agent/history.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::agent {
namespace {

using json::Element;

class CompletionsReader final : public AnswerReader {
public:
    explicit CompletionsReader(AnswerSink& sink) : AnswerReader(sink) {
        builder_.keeps_reasoning = true;
    }

    Result<void> on_event(std::string_view, std::string_view data) override {
        if (data.starts_with("[DONE]")) {
            done_ = true;
            return builder_.end_text();
        }
        const auto root = parser_.parse(data);
        if (!root)
            return fail(ErrorCode::kInternal,
                        "the model's stream holds something that is not JSON");
        const Element event = root->element();
        auto error = json::get(event, "error");
        if (json::get_string(event, "object") == "error") error = event;
        if (error && !error->is_null()) {
            const auto status = json::get_int64(*error, "code")
                                    .value_or(json::get_int64(*error, "status").value_or(200));
            return fail(refusal(status >= 400 && status < 600 ? static_cast<int>(status) : 200,
                                refusal_text(data)));
        }
        if (const auto usage = json::get(event, "usage"); usage && usage->is_object()) {
            const auto details = json::get(*usage, "prompt_tokens_details");
            builder_.answer.usage = {
                .input = json::get_int64(*usage, "prompt_tokens").value_or(0),
                .output = json::get_int64(*usage, "completion_tokens").value_or(0),
                .cached = details ? json::get_int64(*details, "cached_tokens").value_or(0) : 0,
                .told = true};
        }
        const auto choices = json::get_array(event, "choices");
        if (!choices) return {};
        for (const Element choice : *choices) {
            if (json::get_int64(choice, "index").value_or(0) != 0) continue;
            // An answer that comes whole has a message where a stream has deltas.
            for (const std::string_view key : {"delta", "message"}) {
                const auto delta = json::get(choice, key);
                if (!delta) continue;
                if (auto taken = on_delta(*delta); !taken) return taken;
            }
            if (const auto reason = json::get_string(choice, "finish_reason");
                reason && !reason->empty()) {
                ended_ = true;
                if (auto taken = builder_.end_text(); !taken) return taken;
                builder_.answer.cut_short = *reason == "length";
                builder_.answer.withheld = *reason == "content_filter";
            }
        }
        return {};
    }
    Result<void> on_whole(std::string_view body) override {
        auto taken = on_event({}, body);
        done_ = true;
        return taken ? builder_.end_text() : taken;
    }
    bool whole() const override {
        return done_ ? ended_ || builder_.heard || !builder_.answer.requests.empty() : ended_;
    }
    bool finished() const override { return done_; }

private:
    Result<void> on_delta(Element delta) {
        for (const std::string_view key : {"reasoning_content", "reasoning"}) {
            const auto piece = json::get_string(delta, key);
            if (!piece || piece->empty()) continue;
            if (auto taken = builder_.thinking(*piece); !taken) return taken;
            break;  // some servers send both
        }
        for (const std::string_view key : {"content", "refusal"}) {
            if (auto taken = builder_.text(json::get_string(delta, key).value_or("")); !taken)
                return taken;
        }
        if (auto taken = each(delta, "content", [this](Element part) { return on_part(part); });
            !taken)
            return taken;
        return each(delta, "tool_calls",
                    [this, position = std::int64_t{0}](Element request) mutable {
                        return on_request(request, position++);
                    });
    }
    /// Takes the elements of a member that is a list, until one is refused; anything else has none.
    template <class F>
    static Result<void> each(Element object, std::string_view key, F take) {
        const auto list = json::get_array(object, key);
        if (!list) return {};
        for (const Element one : *list) {
            if (auto taken = take(one); !taken) return taken;
        }
        return {};
    }
    /// Mistral's models that reason give their content in parts; reasoning has parts of its own.
    Result<void> on_part(Element part) {
        if (json::get_string(part, "type") == "text")
            return builder_.text(json::get_string(part, "text").value_or(""));
        return each(part, "thinking", [this](Element thought) {
            return builder_.thinking(json::get_string(thought, "text").value_or(""));
        });
    }
    /// Whether this begins a call although one has that place: some servers send every call whole
    /// and give all of them the place 0. With a name, another id is another call, and so is none
    /// when the arguments so far are complete.
    static bool begins_another(const ToolRequest& known, std::string_view id,
                               std::string_view name) {
        if (name.empty()) return false;
        return id.empty() ? json::Parser().parse(known.args).has_value() : id != known.id;
    }
    Result<void> on_request(Element request, std::int64_t position) {
        const std::int64_t place = json::get_int64(request, "index").value_or(position);
        const std::string_view id = json::get_string(request, "id").value_or("");
        const auto function = json::get(request, "function");
        const std::string_view name =
            function ? json::get_string(*function, "name").value_or("") : "";
        const ToolRequest* known = builder_.find(place);
        if (known == nullptr || begins_another(*known, id, name)) {
            if (auto begun = builder_.begin_request(place, id, name); !begun) return begun;
        }
        // Gemini's signatures of thoughts; without them it refuses the next request.
        if (const auto extra = json::get(request, "extra_content"); extra && extra->is_object()) {
            if (auto taken = builder_.extra(json::to_text(*extra)); !taken) return taken;
        }
        if (!function) return {};
        if (const auto args = json::get(*function, "arguments"); args && args->is_object())
            return builder_.arguments(place, json::to_text(*args));
        return builder_.arguments(place, json::get_string(*function, "arguments").value_or(""));
    }

    json::Parser parser_{json::Limits{.max_bytes = std::size_t{2} << 20, .max_depth = 64}};
    bool ended_ = false;  ///< a finish_reason was given
    bool done_ = false;  ///< [DONE]
};

}  // namespace

net::OwnedHeaders ChatCompletions::headers(const Secret<std::string>& key) const {
    net::OwnedHeaders headers{{"Accept", "text/event-stream"}};
    if (!key.reveal().empty())
        headers.emplace_back("Authorization", fmt::format("Bearer {}", key.reveal()));
    return headers;
}

namespace {

void write_image_url(json::Writer& writer, const Picture& picture) {
    if (!picture.base64) return;
    writer.begin_object().key("type").string("image_url").key("image_url").begin_object();
    writer.key("url")
        .string_lossy(fmt::format("data:{};base64,{}", picture.mime_type, *picture.base64))
        .end_object()
        .end_object();
}

void write_tool_pictures(json::Writer& writer, std::vector<const Picture*>& pictures) {
    if (pictures.empty()) return;
    writer.begin_object().key("role").string("user").key("content").begin_array();
    writer.begin_object()
        .key("type")
        .string("text")
        .key("text")
        .string("[the pictures that the tools gave]")
        .end_object();
    for (const Picture* picture : pictures) write_image_url(writer, *picture);
    writer.end_array().end_object();
    pictures.clear();
}

void write_role(json::Writer& writer, const Message& message) {
    switch (message.role) {
        case MessageRole::kUser: writer.key("role").string("user"); break;
        case MessageRole::kAssistant: writer.key("role").string("assistant"); break;
        case MessageRole::kTool:
            writer.key("role").string("tool").key("tool_call_id").string_lossy(message.request_id);
            break;
    }
}

/// `sees`: whether the model takes pictures; else it is told that there were some.
void write_content(json::Writer& writer, const Message& message, bool sees) {
    if (sees && message.role == MessageRole::kUser && has_shown(message)) {
        writer.key("content").begin_array();
        if (!message.text.empty())
            writer.begin_object()
                .key("type")
                .string("text")
                .key("text")
                .string_lossy(message.text)
                .end_object();
        for (const Picture& picture : message.pictures) write_image_url(writer, picture);
        writer.end_array();
    } else {
        const std::string blind = sees ? std::string() : with_blind_note(message);
        writer.key("content").string_lossy(blind.empty() ? message.text : blind);
    }
}

/// `own`: the same model asked for them, and gets back what it added to them.
void write_requests(json::Writer& writer, const Message& message, const ToolNames& names,
                    bool own) {
    if (message.requests.empty()) return;
    writer.key("tool_calls").begin_array();
    for (const ToolRequest& request : message.requests) {
        writer.begin_object().key("id").string_lossy(request.id);
        writer.key("type").string("function").key("function").begin_object();
        writer.key("name")
            .string(names.to_model(request.tool))
            .key("arguments")
            .string_lossy(request.args)
            .end_object();
        if (own && !request.extra.empty()) writer.key("extra_content").raw(request.extra);
        writer.end_object();
    }
    writer.end_array();
}

}  // namespace

void append_chat_messages(std::string& out, std::string_view system, const Conversation& messages,
                          const ToolNames& names, const ModelSettings* settings) {
    json::Writer writer(out);
    writer.begin_array();
    if (!system.empty())
        writer.begin_object()
            .key("role")
            .string("system")
            .key("content")
            .string_lossy(system)
            .end_object();
    const bool sees = settings != nullptr && settings->sees;
    // a tool's message holds text alone: its pictures follow the batch
    std::vector<const Picture*> of_tools;
    for (const Message& message : messages) {
        if (message.role != MessageRole::kTool) write_tool_pictures(writer, of_tools);
        writer.begin_object();
        write_role(writer, message);
        write_content(writer, message, sees);
        for (const Picture& picture : message.pictures) {
            if (sees && message.role == MessageRole::kTool && picture.base64)
                of_tools.push_back(&picture);
        }
        const bool own = settings != nullptr && message.reasoning.model == settings->model;
        if (own && settings->return_reasoning && !message.reasoning.text.empty())
            writer.key("reasoning_content").string_lossy(message.reasoning.text);
        write_requests(writer, message, names, own);
        writer.end_object();
    }
    write_tool_pictures(writer, of_tools);
    writer.end_array();
}

void ChatCompletions::write(std::string& out, const ModelRequest& request, const ToolNames& names,
                            const ModelSettings& settings) const {
    std::string messages;
    append_chat_messages(messages, request.system, request.messages, names, &settings);
    json::Writer writer(out);
    writer.begin_object().key("model").string_lossy(settings.model).key("stream").boolean(true);
    writer.key("stream_options").begin_object().key("include_usage").boolean(true).end_object();
    if (settings.max_output_tokens > 0)
        writer.key(settings.reasons_within_limit ? "max_completion_tokens" : "max_tokens")
            .integer(settings.max_output_tokens);
    writer.key("messages").raw(messages);
    if (!request.tools.empty()) {
        writer.key("tools").begin_array();
        for (const OfferedToolRef& tool : request.tools) {
            writer.begin_object()
                .key("type")
                .string("function")
                .key("function")
                .begin_object()
                .key("name")
                .string(names.to_model(tool->name));
            writer.key("description")
                .string_lossy(tool->description)
                .key("parameters")
                .raw(tool->schema)
                .end_object()
                .end_object();
        }
        writer.end_array();
        if (!request.may_call) writer.key("tool_choice").string("none");
    }
    writer.end_object();
}

std::unique_ptr<AnswerReader> ChatCompletions::reader(AnswerSink& sink) const {
    return std::make_unique<CompletionsReader>(sink);
}

}  // namespace crab::agent

#include "agent/history.hpp"

#include "json/parser.hpp"
#include "json/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::agent {
namespace {

constexpr std::size_t kPerMessage = 4;   ///< tokens for what surrounds a text
constexpr std::size_t kPerPicture = 1'600;   ///< tokens of a picture, about
constexpr std::string_view kNeverEnded =
    "Error: OUTCOME_UNKNOWN: the gateway stopped before this call's end was recorded";

/// Answers what is still open, so that somebody else may speak.
void close_requests(Conversation& conversation, std::vector<ToolRequest>& open) {
    for (const ToolRequest& request : open) {
        conversation.push_back({.role = MessageRole::kTool,
                                .text = std::string(kNeverEnded),
                                .requests = {},
                                .request_id = request.id,
                                .tool = request.tool});
    }
    open.clear();
}

std::vector<ToolRequest> read_requests(json::Parser& parser, const std::string& extra) {
    std::vector<ToolRequest> requests;
    const auto root = parser.parse(extra);
    const auto list = root ? json::get_array(root->element(), "tool_calls") : std::nullopt;
    if (!list) return requests;
    for (const json::Element item : *list) {
        const auto args = json::get(item, "args");
        requests.push_back({.id = std::string(json::get_string(item, "id").value_or("")),
                            .tool = std::string(json::get_string(item, "tool").value_or("")),
                            .args = args && args->is_object() ? json::to_text(*args) : "{}"});
    }
    return requests;
}

/// What a message brought beside its text: pictures by their ids, and of files what their owner's
/// device has read, as a part of the text.
void read_attachments(json::Parser& parser, const std::string& extra, Message& message) {
    const auto root = parser.parse(extra);
    if (!root) return;
    if (const auto pictures = json::get_array(root->element(), "attachments")) {
        for (const json::Element item : *pictures) {
            message.pictures.push_back(
                {.id = std::string(json::get_string(item, "id").value_or("")),
                 .mime_type = std::string(json::get_string(item, "mime_type").value_or(""))});
        }
    }
    const auto files = json::get_array(root->element(), "files");
    if (!files) return;
    for (const json::Element file : *files) {
        const auto text = [&](std::string_view member) {
            return json::get_string(file, member).value_or("");
        };
        const auto excerpt = json::get(file, "excerpt");
        const std::int64_t next = excerpt ? json::get_int64(*excerpt, "next").value_or(0) : 0,
                           total = json::get_int64(file, "total").value_or(0);
        message.text += fmt::format(
            "{}[file {}, {}, attachment_id {}: {}s 0 to {} of {} follow{}]\n{}\n[end of the file's "
            "excerpt]",
            message.text.empty() ? "" : "\n\n", text("name"), text("mime_type"), text("id"),
            text("unit"), next, total,
            next < total ? "; attachment_read gives more while the phone is connected" : "",
            excerpt ? json::get_string(*excerpt, "content").value_or("") : "");
    }
}

}  // namespace

std::string requests_extra(std::span<const ToolRequest> requests) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("tool_calls").begin_array();
    for (const ToolRequest& request : requests) {
        writer.begin_object()
            .key("id")
            .string_lossy(request.id)
            .key("tool")
            .string_lossy(request.tool)
            .key("args")
            .raw(request.args)
            .end_object();
    }
    writer.end_array().end_object();
    return out;
}

std::string result_extra(const ToolRequest& request) {
    std::string out;
    json::Writer writer(out);
    // `call_id` is the model's, under which it asked.
    writer.begin_object().key("call_id").string_lossy(request.id);
    writer.key("tool").string_lossy(request.tool);
    if (request.call_id) writer.key("audit_id").string(request.call_id->view());
    writer.end_object();
    return out;
}

Conversation to_conversation(std::span<const core::ChatMessage> stored) {
    Conversation conversation;
    std::vector<ToolRequest> open;
    json::Parser parser;
    for (const core::ChatMessage& message : stored) {
        if (message.role == "tool") {
            const auto root = parser.parse(message.extra);
            const std::string id(root ? json::get_string(root->element(), "call_id").value_or("")
                                      : "");
            const auto request = std::ranges::find(open, id, &ToolRequest::id);
            if (request == open.end()) continue;
            conversation.push_back({.role = MessageRole::kTool,
                                    .text = message.content,
                                    .requests = {},
                                    .request_id = id,
                                    .tool = request->tool});
            open.erase(request);
        } else if (message.role == "user" || message.role == "assistant") {
            close_requests(conversation, open);
            const MessageRole role =
                message.role == "user" ? MessageRole::kUser : MessageRole::kAssistant;
            conversation.push_back({.role = role,
                                    .text = message.content,
                                    .requests = {},
                                    .request_id = {},
                                    .tool = {}});
            if (role == MessageRole::kAssistant && !message.extra.empty())
                conversation.back().requests = open = read_requests(parser, message.extra);
            if (role == MessageRole::kUser && !message.extra.empty())
                read_attachments(parser, message.extra, conversation.back());
        }
    }
    close_requests(conversation, open);
    return conversation;
}

bool has_shown(const Message& message) {
    return std::ranges::any_of(message.pictures,
                               [](const Picture& picture) { return picture.base64 != nullptr; });
}

std::string with_blind_note(const Message& message) {
    if (!has_shown(message)) return {};
    return fmt::format("{}{}[{} here that this model cannot see]", message.text,
                       message.text.empty() ? "" : "\n",
                       message.pictures.size() == 1 ? "there is a picture" : "there are pictures");
}

std::size_t estimated_tokens(const Message& message) {
    std::size_t bytes = message.text.size() + message.reasoning.text.size();
    for (const ToolRequest& request : message.requests)
        bytes += request.tool.size() + request.args.size() + request.extra.size();
    const std::size_t shown = static_cast<std::size_t>(std::ranges::count_if(
        message.pictures, [](const Picture& picture) { return picture.base64 != nullptr; }));
    return kPerMessage + estimated_tokens(bytes) + shown * kPerPicture;
}

std::size_t estimated_tokens(const Conversation& conversation) {
    std::size_t tokens = 0;
    for (const Message& message : conversation) tokens += estimated_tokens(message);
    return tokens;
}

void trim(Conversation& conversation, std::size_t most_tokens) {
    std::size_t tokens = estimated_tokens(conversation);
    // Where the last turn begins: its question and what follows.
    std::size_t last_turn = conversation.size();
    while (last_turn > 0 && conversation[last_turn - 1].role != MessageRole::kUser) --last_turn;
    if (last_turn > 0) --last_turn;
    std::size_t first = 0;
    while (first < last_turn &&
           (tokens > most_tokens || conversation[first].role != MessageRole::kUser)) {
        do {
            tokens -= estimated_tokens(conversation[first]);
            ++first;
        } while (first < last_turn && conversation[first].role != MessageRole::kUser);
    }
    conversation.erase(conversation.begin(),
                       conversation.begin() + static_cast<std::ptrdiff_t>(first));
    std::size_t last_batch = conversation.size();
    while (last_batch > 0 && conversation[last_batch - 1].role == MessageRole::kTool) --last_batch;
    for (std::size_t i = 0; i < last_batch && tokens > most_tokens; ++i) {
        Message& message = conversation[i];
        if (message.role != MessageRole::kTool) continue;
        std::string shorter =
            fmt::format("[an output of {} bytes, left out to save room]", message.text.size());
        if (shorter.size() >= message.text.size()) continue;
        tokens -= estimated_tokens(message);
        message.text = std::move(shorter);
        tokens += estimated_tokens(message);
    }
}

}  // namespace crab::agent

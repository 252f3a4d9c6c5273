#include "adapters/mcp/wire/sampling.hpp"

#include "adapters/mcp/wire/content.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <optional>
#include <vector>

namespace crab::mcp {
namespace {

/// A message's content in the client's form; nothing when it has more blocks than the client knows.
std::optional<std::string> mapped_content(std::string_view content, Revision client) {
    std::string out;
    if (!content.starts_with('[')) {
        append_content(out, content, client);
        return out;
    }
    std::vector<std::string_view> blocks;
    for (json::RawParts items(content); items.next();) blocks.push_back(items.value());
    const bool one_block = client < Revision::k2025_11_25;
    if (one_block && blocks.size() != 1) return std::nullopt;
    if (!one_block) out += '[';
    for (const std::string_view block : blocks) {
        if (out.size() > 1) out += ',';
        append_content(out, block, client);
    }
    if (!one_block) out += ']';
    return out;
}

/// Nothing when a message cannot be said.
std::optional<std::string> mapped_messages(std::string_view messages, Revision client) {
    std::string out;
    json::Writer writer(out);
    writer.begin_array();
    for (json::RawParts items(messages); items.next();) {
        writer.begin_object();
        for (json::RawParts parts(items.value()); parts.next();) {
            writer.key(parts.name());
            if (parts.name() != "content") {
                writer.raw(parts.value());
                continue;
            }
            const auto content = mapped_content(parts.value(), client);
            if (!content) return std::nullopt;
            writer.raw(*content);
        }
        writer.end_object();
    }
    writer.end_array();
    return out;
}

std::unexpected<RpcError> refuse(std::string_view why) {
    return std::unexpected(
        RpcError{.code = rpc_code::kInvalidParams, .message = std::string(why), .data = {}});
}

}  // namespace

std::expected<std::string, RpcError> sampling_params(std::string_view params, Revision client,
                                                     bool client_has_tools) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(params); parts.next();) {
        const std::string_view name = parts.name();
        if ((name == "tools" || name == "toolChoice") && !client_has_tools)
            return refuse("this client has no sampling.tools");
        if (name != "messages") {
            writer.key(name).raw(parts.value());
            continue;
        }
        const auto messages = mapped_messages(parts.value(), client);
        if (!messages) return refuse("this client takes one block of content in a message");
        writer.key(name).raw(*messages);
    }
    writer.end_object();
    return out;
}

}  // namespace crab::mcp

#include "adapters/mcp/server/client_identity.hpp"

#include "adapters/mcp/wire/safe_text.hpp"
#include "json/raw_parts.hpp"

#include <algorithm>

namespace crab::mcp {
namespace {

bool is_plain(char c) { return c >= ' ' && c <= '~'; }

/// One line of text.
std::string kept(std::string_view raw) {
    std::string text = json::read_raw_string(raw).value_or("");
    if (text.size() > ClientIdentity::kMostBytes) return {};
    if (std::ranges::all_of(text, is_plain)) return text;
    text = clean_text(text).text;
    std::erase_if(text, [](char c) { return c == '\n' || c == '\t'; });
    return text;
}

}  // namespace

ClientIdentity ClientIdentity::read(std::string_view client_info) {
    std::string_view name, version;
    for (json::RawParts parts(client_info); parts.next();) {
        if (name.empty() && parts.name() == "name") name = parts.value();
        if (version.empty() && parts.name() == "version") version = parts.value();
    }
    return {.name = kept(name), .version = kept(version)};
}

const ClientIdentity& ClientIdentities::read(std::string_view client_info) {
    constexpr std::size_t kMost = 1024;
    if (said_ == client_info) return client_;
    client_ = ClientIdentity::read(client_info);
    said_.reset();
    if (client_info.size() <= kMost) said_.emplace(client_info);
    return client_;
}

}  // namespace crab::mcp

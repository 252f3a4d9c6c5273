#include "gateway/mcp/mcp_eras.hpp"

#include "base/log.hpp"
#include "base/process/file.hpp"
#include "crypto/digest.hpp"
#include "json/value.hpp"

#include <array>
#include <utility>

namespace crab::gateway {
namespace {

using Form = mcp::FoundEra::Form;
constexpr std::array<std::pair<Form, std::string_view>, 3> kForms{
    {{Form::kModern, "modern"}, {Form::kLegacy, "legacy"}, {Form::kSse, "sse"}}};

/// No secret is in it: what environment and headers say does not make another server.
std::string digest_of(const config::McpServerOptions& server) {
    std::string all = server.url + '\n' + server.command;
    for (const std::string& word : server.args) all += '\0' + word;
    return crypto::sha256_hex(all);
}

std::optional<mcp::FoundEra> read_era(const json::Value& object) {
    const auto revision = mcp::find_revision(object.text("version"));
    for (const auto& [form, name] : kForms)
        if (revision && object.text("form") == name) return mcp::FoundEra{form, *revision};
    return std::nullopt;
}

}  // namespace

McpEras::McpEras(std::filesystem::path file) : file_(std::move(file)) {
    const auto text = read_file(file_);
    const auto all = text ? json::Value::parse(*text) : json::Value::parse("{}");
    if (!all || all->as_object() == nullptr) return;
    for (const auto& [source, entry] : *all->as_object())
        if (const auto era = read_era(entry)) known_[source] = {entry.text("server"), *era};
}

std::optional<mcp::FoundEra> McpEras::find(std::string_view source,
                                           const config::McpServerOptions& server) const {
    const auto found = known_.find(source);
    if (found == known_.end() || found->second.server != digest_of(server)) return std::nullopt;
    return found->second.era;
}

void McpEras::keep(const std::string& source, const config::McpServerOptions& server,
                   const mcp::FoundEra& found) {
    Known now{digest_of(server), found};
    Known& known = known_[source];
    if (known == now) return;
    known = std::move(now);
    write();
}

void McpEras::write() const {
    json::Value all = json::Value::object();
    for (const auto& [source, known] : known_) {
        std::string form;
        for (const auto& [each, name] : kForms)
            if (each == known.era.form) form = name;
        all.set(source,
                json::Value::object({{"server", known.server},
                                     {"form", form},
                                     {"version", std::string(name_of(known.era.revision))}}));
    }
    if (const auto written = replace_file(file_, all.dump()); !written)
        log::warn("what MCP servers speak could not be kept; they are asked at each start",
                  {{"reason", written.error().message}});
}

}  // namespace crab::gateway

#include "gateway/operator/config_api.hpp"

#include "config/load.hpp"
#include "config/paths.hpp"
#include "gateway/operator/config_changes.hpp"
#include "gateway/operator/config_findings.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "setup/policy_rules.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <unistd.h>

namespace crab::gateway {
namespace {

using config::EffectiveValue;

/// What is wrong with a file.
struct FileProblem {
    std::int64_t line = 0;
    std::string pointer, message;
};

bool is_part_of(std::string_view key, std::string_view whole) {
    return key.starts_with(whole) &&
           (key.size() == whole.size() || key[whole.size()] == '.' || key[whole.size()] == '[');
}

bool needs_restart(std::span<const ConfigKey> keys, std::string_view key) {
    return std::ranges::any_of(keys, [&](const ConfigKey& each) {
        return each.effect == KeyEffect::kRestart && is_part_of(key, each.name);
    });
}

/// The problems of a file that cannot be read, as config::to_error() lists them.
std::vector<FileProblem> problems_of(const Error& error) {
    std::vector<FileProblem> problems;
    const auto details = json::Value::parse(error.details);
    const json::Value* const list = details ? details->find("errors") : nullptr;
    if (list == nullptr || !list->is_array())
        return {{.line = 0, .pointer = {}, .message = error.message}};
    for (const json::Value& each : *list->as_array()) {
        const json::Value* const line = each.find("line");
        problems.push_back({.line = line != nullptr ? line->as_int64().value_or(0) : 0,
                            .pointer = each.text("key"),
                            .message = each.text("message")});
    }
    return problems;
}

/// Of a file that can be read: what shows when it is used.
std::vector<FileProblem> problems_in_use(const config::GatewayConfig& config) {
    std::vector<FileProblem> problems;
    if (const auto policy = setup::make_policy(config); !policy)
        problems.push_back({.line = 0, .pointer = {}, .message = policy.error().message});
    const auto paths = config::Paths::find(false, ::getuid());
    for (std::string& each : look_around(config, paths, ::getuid()).problems)
        problems.push_back({.line = 0, .pointer = {}, .message = std::move(each)});
    return problems;
}

void append_value(json::Writer& writer, std::string_view name, const json::Value& value) {
    if (!value.is_null()) writer.key(name).raw(value.dump());
}

/// What a reload of `after` would change of `before`, with the keys of values that differ although
/// they are written alike, such as files that they refer to.
void append_changes(json::Writer& writer, const std::vector<EffectiveValue>& before,
                    const std::vector<EffectiveValue>& after,
                    const std::vector<std::string_view>& differing,
                    std::span<const ConfigKey> keys) {
    std::map<std::string_view, std::pair<const EffectiveValue*, const EffectiveValue*>> all;
    for (const EffectiveValue& each : before) all[each.key].first = &each;
    for (const EffectiveValue& each : after) all[each.key].second = &each;
    std::vector<std::string_view> told;
    for (const auto& [key, values] : all) {
        const auto& [was, is] = values;
        if (was != nullptr && is != nullptr && was->content == is->content) continue;
        writer.begin_object().key("key").string_lossy(key);
        if (was != nullptr) append_value(writer, "before", was->value);
        if (is != nullptr) append_value(writer, "after", is->value);
        writer.key("restart").boolean(needs_restart(keys, key)).end_object();
        told.push_back(key);
    }
    for (const std::string_view key : differing) {
        if (std::ranges::any_of(told, [&](std::string_view each) { return is_part_of(each, key); }))
            continue;
        writer.begin_object().key("key").string(key);
        writer.key("restart").boolean(needs_restart(keys, key)).end_object();
    }
}

}  // namespace

Result<void> ConfigApi::start() {
    auto schema = json::Value::parse(config::schema_text());
    if (!schema) return fail(std::move(schema.error()));
    schema_ = std::move(*schema);
    keys_ = uses_.keys();
    return {};
}

void ConfigApi::add_routes(const ListenerRoutes& table) {
    if (table.kind != ListenerKind::kAdmin) return;
    using Request = net::Routes<core::PrincipalRef>::Request;
    table.routes.add(
        {.path = "/v1/admin/config",
         .summary = "The configuration that counts: values, defaults, lines; no secret",
         .answers = {{200, "config"}}},
        [this](const Request& request) { return show(request.exchange); });
    table.routes.add(
        {.method = net::Method::kPost,
         .path = "/v1/admin/config/check",
         .proof = net::FreshProof::kNever,
         .unrecorded = "asks, and changes nothing",
         .summary = "What is wrong with the file on disk, and what a reload would change",
         .answers = {{200, "config_check"}}},
        [this](const Request& request) { return check(request.exchange); });
}

Task<void> ConfigApi::show(net::HttpExchange& exchange) {
    const std::string answer = co_await uses_.workers.pool().run([this] { return shown(); });
    exchange.respond(200, net::kJsonType, answer);
}

Task<void> ConfigApi::check(net::HttpExchange& exchange) {
    const std::string answer = co_await uses_.workers.pool().run([this] { return checked(); });
    exchange.respond(200, net::kJsonType, answer);
}

std::string ConfigApi::shown() const {
    const LoadedConfig loaded = uses_.loaded();
    std::string out;
    json::Writer writer(out);
    // Whoever asks stands in another folder than the gateway.
    std::error_code away;
    const auto& source = loaded.config.source;
    const auto path = source.empty() ? source : std::filesystem::absolute(source, away);
    writer.begin_object().key("path").string_lossy(path.lexically_normal().native());
    writer.key("loaded_at").string(to_rfc3339(loaded.at)).key("entries").begin_array();
    for (const EffectiveValue& each : effective_values(schema_, loaded.config.origin)) {
        writer.begin_object().key("key").string_lossy(each.key);
        append_value(writer, "value", each.value);
        append_value(writer, "default", each.standard);
        if (each.line > 0) writer.key("line").integer(each.line);
        writer.key("restart").boolean(needs_restart(keys_, each.key));
        writer.key("secret").boolean(each.secret).end_object();
    }
    writer.end_array().end_object();
    return out;
}

std::string ConfigApi::checked() const {
    const LoadedConfig loaded = uses_.loaded();
    const auto on_disk = uses_.read();
    const auto problems = on_disk ? problems_in_use(*on_disk) : problems_of(on_disk.error());
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("problems").begin_array();
    for (const FileProblem& each : problems) {
        writer.begin_object();
        if (each.line > 0) writer.key("line").integer(each.line);
        writer.key("pointer").string_lossy(each.pointer);
        writer.key("message").string_lossy(each.message).end_object();
    }
    writer.end_array().key("changes").begin_array();
    if (on_disk) {
        ConfigChanges differing = config_changes(keys_, loaded.config, *on_disk);
        differing.now.insert(differing.now.end(), differing.at_next_start.begin(),
                             differing.at_next_start.end());
        append_changes(writer, effective_values(schema_, loaded.config.origin),
                       effective_values(schema_, on_disk->origin), differing.now, keys_);
    }
    writer.end_array().end_object();
    return out;
}

}  // namespace crab::gateway

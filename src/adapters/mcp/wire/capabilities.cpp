#include "adapters/mcp/wire/capabilities.hpp"

#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <optional>

namespace crab::mcp {
namespace {

/// The member if it is an object.
std::optional<std::string_view> find_object(std::string_view object, std::string_view name) {
    const auto raw = json::find_raw(object, name);
    return raw && raw->starts_with('{') ? raw : std::nullopt;
}

void empty_object(json::Writer& writer, std::string_view name) {
    writer.key(name).begin_object().end_object();
}

void write_elicitation(json::Writer& writer, const ClientCapabilities& has,
                       const Features& upstream) {
    const bool form = has.form && upstream.form_elicitation;
    const bool url = has.url && upstream.url_elicitation;
    if (!form && !url) return;
    writer.key("elicitation").begin_object();
    if (upstream.url_elicitation) {  // before, `{}` was all that could be said
        if (form) empty_object(writer, "form");
        if (url) empty_object(writer, "url");
    }
    writer.end_object();
}

void write_sampling(json::Writer& writer, const ClientCapabilities& has, Revision upstream) {
    writer.key("sampling").begin_object();
    if (upstream >= Revision::k2025_11_25) {
        if (has.sampling_context) empty_object(writer, "context");
        if (has.sampling_tools) empty_object(writer, "tools");
    }
    writer.end_object();
}

void write_roots(json::Writer& writer, const ClientCapabilities& has, const Features& upstream) {
    writer.key("roots").begin_object();
    if (has.roots_changed && upstream.session) writer.key("listChanged").boolean(true);
    writer.end_object();
}

}  // namespace

std::string server_capabilities(Revision revision, bool has_ui) {
    const Features& has = features_of(revision);
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    writer.key("tools").begin_object().key("listChanged").boolean(true).end_object();
    writer.key("resources").begin_object().key("subscribe").boolean(true);
    writer.key("listChanged").boolean(true).end_object();
    writer.key("prompts").begin_object().key("listChanged").boolean(true).end_object();
    empty_object(writer, "logging");
    if (has.completions) empty_object(writer, "completions");
    if (has.tasks_extension) {
        writer.key("extensions").begin_object();
        empty_object(writer, kTasksExtension);
        if (has_ui) empty_object(writer, kUiExtension);
        writer.end_object();
    }
    writer.end_object();
    return out;
}

ClientCapabilities read_client_capabilities(std::string_view capabilities) {
    ClientCapabilities has;
    if (capabilities == "{}") return has;  // of most requests
    if (const auto elicitation = find_object(capabilities, "elicitation")) {
        has.url = find_object(*elicitation, "url").has_value();
        has.form = find_object(*elicitation, "form").has_value() || !has.url;
    }
    if (const auto sampling = find_object(capabilities, "sampling")) {
        has.sampling = true;
        has.sampling_tools = find_object(*sampling, "tools").has_value();
        has.sampling_context = find_object(*sampling, "context").has_value();
    }
    if (const auto roots = find_object(capabilities, "roots")) {
        has.roots = true;
        has.roots_changed = json::find_raw(*roots, "listChanged") == "true";
    }
    if (const auto extensions = find_object(capabilities, "extensions"))
        has.tasks_extension = find_object(*extensions, kTasksExtension).has_value();
    return has;
}

std::string upstream_capabilities(const ClientCapabilities& capabilities, const Ask& ask,
                                  Revision upstream) {
    const Features& known = features_of(upstream);
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    if (ask.elicitation) write_elicitation(writer, capabilities, known);
    if (ask.sampling && capabilities.sampling) write_sampling(writer, capabilities, upstream);
    if (ask.roots && capabilities.roots) write_roots(writer, capabilities, known);
    if (known.tasks_extension && capabilities.tasks_extension) {
        writer.key("extensions").begin_object();
        empty_object(writer, kTasksExtension);
        writer.end_object();
    }
    writer.end_object();
    return out;
}

}  // namespace crab::mcp

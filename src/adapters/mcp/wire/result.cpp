#include "adapters/mcp/wire/result.hpp"

#include "adapters/mcp/wire/content.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

namespace crab::mcp {
namespace {

bool is_frame_member(std::string_view name) {
    return name == "resultType" || name == "ttlMs" || name == "cacheScope" || name == "_meta";
}

/// Members of an object as they are, without its braces.
std::string_view members_of(std::string_view object) {
    return object.size() <= 2 ? std::string_view() : object.substr(1, object.size() - 2);
}

/// The comma before the next member of the object at the end of `out`.
std::string& next_member(std::string& out) {
    if (!out.ends_with('{')) out += ',';
    return out;
}

/// `_meta`: what the object has, what the form sets, and the server's identity for modern clients;
/// nothing when there is nothing to say.
void append_meta(std::string& out, std::string_view result, const ResultForm& form) {
    std::string theirs;
    json::Writer kept(theirs);
    for (json::RawParts parts(json::find_raw(result, "_meta").value_or("")); parts.next();) {
        if (parts.name() == kServerInfoKey || json::find_raw(form.meta, parts.name())) continue;
        kept.key(parts.name()).raw(parts.value());
    }
    const std::string_view own = members_of(form.meta);
    const bool identifies = features_of(form.revision).result_type && !form.server_info.empty();
    if (theirs.empty() && own.empty() && !identifies) return;
    next_member(out) += R"("_meta":{)";
    out += theirs;
    if (!own.empty()) next_member(out) += own;
    if (identifies) {
        json::append_quoted(next_member(out), kServerInfoKey);
        out.append(":").append(form.server_info);
    }
    out += '}';
}

/// Ends the object with what every result of the revision has.
void end_result(std::string& out, std::string_view result, const ResultForm& form) {
    const Features& has = features_of(form.revision);
    if (has.result_type) json::append_quoted(next_member(out) += R"("resultType":)", form.type);
    if (has.cache_hints && form.ttl) {
        next_member(out) += R"("ttlMs":)";
        out.append(std::to_string(form.ttl->count())).append(R"(,"cacheScope":"private")");
    }
    append_meta(out, result, form);
    out += '}';
}

/// An array whose items `append(out, item)` writes.
template <class Append>
std::string mapped_array(std::string_view array, Append append) {
    std::string out = "[";
    for (json::RawParts items(array); items.next();) {
        if (out.size() > 1) out += ',';
        append(out, items.value());
    }
    out += ']';
    return out;
}

/// A result of which the array `member` is mapped item by item.
template <class Append>
void append_with_array(std::string& out, std::string_view result, const ResultForm& form,
                       std::string_view member, Append append) {
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(result); parts.next();) {
        if (is_frame_member(parts.name())) continue;
        writer.key(parts.name());
        if (parts.name() == member)
            writer.raw(mapped_array(parts.value(), append));
        else
            writer.raw(parts.value());
    }
    end_result(out, result, form);
}

bool has_text(std::string_view blocks) {
    for (json::RawParts items(blocks); items.next();) {
        if (json::find_raw_string(items.value(), "type") == "text") return true;
    }
    return false;
}

/// The content of a call's result with the text that stands for a bare structured one.
std::string call_content(std::string_view result, Revision revision) {
    const std::string_view blocks = json::find_raw(result, "content").value_or("[]");
    std::string content = mapped_array(blocks, [&](std::string& out, std::string_view block) {
        append_content(out, block, revision);
    });
    const auto structured = json::find_raw(result, "structuredContent");
    if (!structured || has_text(blocks)) return content;
    content.pop_back();
    if (content.size() > 1) content += ',';
    std::string text;
    json::append_compact(text, *structured);
    append_text_block(content, text);
    content += ']';
    return content;
}

bool has_structured(Revision revision, std::string_view value) {
    switch (features_of(revision).structured) {
        case Structured::kNone: return false;
        case Structured::kObject: return value.starts_with('{');
        case Structured::kAny: return true;
    }
    return false;
}

}  // namespace

void append_plain_result(std::string& out, std::string_view result, const ResultForm& form) {
    append_with_array(out, result, form, {},
                      [](std::string& to, std::string_view item) { to += item; });
}

void end_own_result(std::string& out, const ResultForm& form) { end_result(out, {}, form); }

void append_call_result(std::string& out, std::string_view result, const ResultForm& form) {
    json::Writer writer(out);
    writer.begin_object().key("content").raw(call_content(result, form.revision));
    for (json::RawParts parts(result); parts.next();) {
        const std::string_view name = parts.name();
        if (is_frame_member(name) || name == "content") continue;
        if (name == "structuredContent" && !has_structured(form.revision, parts.value())) continue;
        writer.key(name).raw(parts.value());
    }
    end_result(out, result, form);
}

void append_text_result(std::string& out, std::string_view text, std::string_view structured,
                        const ResultForm& form) {
    json::append_quoted(out += R"({"content":[{"type":"text","text":)", text);
    out += "}]";
    if (!structured.empty() && has_structured(form.revision, structured))
        out.append(R"(,"structuredContent":)").append(structured);
    end_result(out, {}, form);
}

void append_prompt_result(std::string& out, std::string_view result, const ResultForm& form) {
    const auto append_message = [&](std::string& to, std::string_view message) {
        json::Writer writer(to);
        writer.begin_object();
        for (json::RawParts parts(message); parts.next();) {
            std::string content;
            if (parts.name() == "content") append_content(content, parts.value(), form.revision);
            writer.key(parts.name()).raw(content.empty() ? parts.value() : content);
        }
        writer.end_object();
    };
    append_with_array(out, result, form, "messages", append_message);
}

void append_read_result(std::string& out, std::string_view result, const ResultForm& form) {
    const auto append_one = [&](std::string& to, std::string_view contents) {
        append_resource_contents(to, contents, form.revision);
    };
    append_with_array(out, result, form, "contents", append_one);
}

std::string core_result(std::string_view result) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(result); parts.next();) {
        if (parts.name() == "_meta" || parts.name() == "resultType") continue;
        writer.key(parts.name()).raw(parts.value());
    }
    writer.end_object();
    return out;
}

std::optional<std::string> result_type(std::string_view result) {
    const auto raw = json::find_raw(result, "resultType");
    return raw ? json::read_raw_string(*raw) : "complete";
}

bool is_error_result(std::string_view result) {
    return json::find_raw(result, "isError") == "true";
}

std::string first_text(std::string_view result) {
    for (json::RawParts items(json::find_raw(result, "content").value_or("[]")); items.next();) {
        if (json::find_raw_string(items.value(), "type") == "text")
            return json::find_raw_string(items.value(), "text").value_or("");
    }
    return {};
}

}  // namespace crab::mcp

#include "adapters/clawseed/wire.hpp"

#include "adapters/clawseed/frame_scan.hpp"
#include "core/call/picture.hpp"
#include "core/call/traceparent.hpp"
#include "json/raw_parts.hpp"
#include "json/unicode.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace crab::clawseed {
namespace {

using json::Element;
using json::Writer;

constexpr std::array kExtensions{
    Extension::kReplace,    Extension::kUnregister, Extension::kRejected,
    Extension::kDeadline,   Extension::kCaller,     Extension::kCancel,
    Extension::kAccepted,   Extension::kProgress,   Extension::kApprovals,
    Extension::kArtifacts,  Extension::kResume,     Extension::kPresence,
    Extension::kAskUser,    Extension::kCallIds,    Extension::kDetachedTurns,
    Extension::kTraceparent};

struct ClaimableCode {
    std::string_view word;
    ErrorCode code;
};
constexpr std::array kClaimable{
    ClaimableCode{"INVALID_ARGS", ErrorCode::kInvalidArgs},
    ClaimableCode{"TOOL_NOT_FOUND", ErrorCode::kToolNotFound},
    ClaimableCode{"FORBIDDEN", ErrorCode::kForbidden},
    ClaimableCode{"PERMISSION_DENIED", ErrorCode::kForbidden},
    ClaimableCode{"AUTH_REQUIRED", ErrorCode::kAuthRequired},
    ClaimableCode{"RATE_LIMITED", ErrorCode::kRateLimited},
    ClaimableCode{"UNAVAILABLE", ErrorCode::kUnavailable},
    ClaimableCode{"TIMEOUT", ErrorCode::kTimeout},
    ClaimableCode{"CANCELLED", ErrorCode::kCancelled},
    ClaimableCode{"INTERNAL", ErrorCode::kInternal},
    ClaimableCode{"INTERNAL_ERROR", ErrorCode::kInternal},
};

void begin(std::string& out, std::string_view type) {
    out += R"({"type":")";
    out += type;
    out += '"';
}

void text_member(std::string& out, std::string_view name, std::string_view value) {
    out += ",\"";
    out += name;
    out += "\":";
    json::append_quoted(out, value);
}

/// For text of a model, of an operator's configuration, or cut anywhere.
void lossy_member(std::string& out, std::string_view name, std::string_view value) {
    out += ",\"";
    out += name;
    out += "\":";
    json::append_quoted_lossy(out, value);
}

core::Outcome text_result(std::string text) {
    return core::ToolResult{.kind = core::ContentKind::kText,
                            .content = std::move(text),
                            .content_type = {},
                            .logs = {},
                            .usage = {}};
}

/// `output` as text: a string as it is, anything else as compact JSON.
std::string output_text(Element output) {
    std::string_view text;
    return output.get(text) == simdjson::SUCCESS ? std::string(text) : json::to_text(output);
}

}  // namespace

std::string_view name_of(Extension extension) {
    switch (extension) {
        case Extension::kReplace: return "register_tools.replace";
        case Extension::kUnregister: return "unregister_tools";
        case Extension::kRejected: return "tools_registered.rejected";
        case Extension::kDeadline: return "tool_call_request.deadline_ms";
        case Extension::kCaller: return "tool_call_request.caller";
        case Extension::kCancel: return "tool_call_cancel";
        case Extension::kAccepted: return "tool_call_accepted";
        case Extension::kProgress: return "tool_call_progress";
        case Extension::kApprovals: return "approvals";
        case Extension::kArtifacts: return "artifacts";
        case Extension::kResume: return "tool_call_resume";
        case Extension::kPresence: return "presence";
        case Extension::kAskUser: return "ask_user";
        case Extension::kCallIds: return "tool_call.call_id";
        case Extension::kDetachedTurns: return "detached_turns";
        case Extension::kTraceparent: return "tool_call_request.traceparent";
    }
    return "";
}

Extensions parse_capabilities(Element connect) {
    Extensions extensions;
    if (const auto list = json::get_array(connect, "capabilities")) {
        for (const Element item : *list) {
            std::string_view name;
            if (item.get(name) != simdjson::SUCCESS) continue;
            for (const Extension extension : kExtensions) {
                if (name_of(extension) == name) extensions.add(extension);
            }
        }
    }
    return extensions;
}

void write_session_start(std::string& out, const SessionStart& frame) {
    Writer writer(out);
    writer.begin_object()
        .key("type")
        .string("session_start")
        .key("v")
        .integer(kVersion)
        .key("session_id")
        .string(frame.session_id);
    writer.key("resumed")
        .boolean(frame.resumed)
        .key("message_count")
        .unsigned_integer(frame.message_count);
    if (!frame.name.empty()) writer.key("name").string_lossy(frame.name);
    if (!frame.persona.empty()) writer.key("persona").string_lossy(frame.persona);
    if (frame.pictures || frame.files || frame.asks) {
        writer.key("image_attachments_supported")
            .boolean(frame.pictures)
            .key("image_model_support")
            .string(frame.pictures ? "supported" : "unsupported");
        writer.key("file_attachments_supported")
            .boolean(frame.files)
            .key("ask_user_supported")
            .boolean(frame.asks);
    }
    writer.end_object();
}

void write_connected(std::string& out, const Terms* terms) {
    Writer writer(out);
    writer.begin_object()
        .key("type")
        .string("connected")
        .key("v")
        .integer(kVersion)
        .key("message")
        .string("connected to crab");
    if (terms != nullptr) {
        writer.key("capabilities").begin_array();
        for (const Extension extension : kExtensions) writer.string(name_of(extension));
        writer.end_array()
            .key("max_message_bytes")
            .unsigned_integer(terms->max_message_bytes)
            .key("grace_ms")
            .integer(terms->grace.count());
        if (terms->artifacts) {
            writer.key("artifacts")
                .begin_object()
                .key("upload")
                .string(kUploadPath)
                .key("inline_bytes")
                .unsigned_integer(terms->artifacts->inline_bytes);
            writer.key("max_bytes").unsigned_integer(terms->artifacts->max_bytes).end_object();
        }
    }
    writer.end_object();
}

void write_tools_registered(std::string& out, std::size_t count, std::size_t registered,
                            std::span<const Rejected> rejected) {
    Writer writer(out);
    writer.begin_object()
        .key("type")
        .string("tools_registered")
        .key("count")
        .unsigned_integer(count)
        .key("registered")
        .unsigned_integer(registered);
    if (!rejected.empty()) {
        writer.key("rejected").begin_array();
        for (const Rejected& element : rejected) {
            writer.begin_object()
                .key("index")
                .unsigned_integer(element.index)
                .key("name")
                .string_lossy(element.name);
            writer.key("code")
                .string(token_of(element.code))
                .key("message")
                .string_lossy(element.message)
                .end_object();
        }
        writer.end_array();
    }
    writer.end_object();
}

void write_registered_tools(std::string& out, std::span<const core::ToolRef> tools) {
    Writer writer(out);
    writer.begin_object().key("type").string("registered_tools").key("tools").begin_array();
    for (const core::ToolRef& tool : tools) {
        writer.begin_object()
            .key("name")
            .string(tool->spec.name)
            .key("description")
            .string(tool->spec.description);
        writer.key("parameters").raw(tool->spec.input_schema).end_object();
    }
    writer.end_array().end_object();
}

void write_tool_call_request(std::string& out, std::string_view id, std::string_view name,
                             std::string_view args, const RequestExtras& extras) {
    begin(out, "tool_call_request");
    out += R"(,"id":")";
    out += id;
    out += R"(","name":")";
    out += name;  // a tool's name needs no escapes
    out += R"(","args":)";
    out += args;
    if (extras.deadline) {
        out += R"(,"deadline_ms":)";
        out += std::to_string(std::max<std::int64_t>(1, extras.deadline->count()));
    }
    if (!extras.principal.empty()) {
        out += R"(,"caller":)";
        Writer writer(out);
        writer.begin_object().key("principal").string_lossy(extras.principal);
        if (!extras.agent.empty()) writer.key("agent").string_lossy(extras.agent);
        writer.end_object();
    }
    if (core::parse_traceparent(extras.traceparent)) {  // hexadecimal digits and hyphens
        out += R"(,"traceparent":")";
        out += extras.traceparent;
        out += '"';
    }
    out += '}';
}

void write_tool_call_cancel(std::string& out, std::string_view id, std::string_view reason) {
    begin(out, "tool_call_cancel");
    text_member(out, "id", id);
    text_member(out, "reason", reason);
    out += '}';
}

void write_result_acknowledged(std::string& out, std::string_view id) {
    begin(out, "result_acknowledged");
    text_member(out, "id", id);
    out += '}';
}

void write_error(std::string& out, std::string_view code, std::string_view message) {
    begin(out, "error");
    lossy_member(out, "message", message);
    text_member(out, "code", code);
    out += '}';
}

void write_agent(std::string& out, bool start, std::string_view provider, std::string_view model) {
    begin(out, start ? "agent_start" : "agent_end");
    lossy_member(out, "provider", provider);
    lossy_member(out, "model", model);
    out += '}';
}

void write_text(std::string& out, std::string_view type, std::string_view content) {
    begin(out, type);
    out += R"(,"content":)";
    json::append_quoted_lossy(out, content);
    out += '}';
}

void write_debug_prompt(std::string& out, std::string_view messages, std::int64_t tokens) {
    begin(out, "debug_prompt");
    lossy_member(out, "messages", messages);
    out += R"(,"estimated_tokens":)";
    out += std::to_string(tokens);
    out += '}';
}

void write_tool_call(std::string& out, std::string_view id, std::string_view name,
                     std::string_view args, std::string_view call_id) {
    Writer writer(out);
    writer.begin_object()
        .key("type")
        .string("tool_call")
        .key("id")
        .string_lossy(id)
        .key("name")
        .string_lossy(name)
        .key("args")
        .raw(args);
    if (!call_id.empty()) writer.key("call_id").string(call_id);
    writer.end_object();
}

void write_tool_result(std::string& out, std::string_view id, std::string_view name,
                       std::string_view output, std::string_view presentation,
                       std::string_view call_id) {
    Writer writer(out);
    writer.begin_object()
        .key("type")
        .string("tool_result")
        .key("id")
        .string_lossy(id)
        .key("name")
        .string_lossy(name)
        .key("output")
        .string_lossy(output);
    if (!presentation.empty()) writer.key("presentation").raw(presentation);
    if (!call_id.empty()) writer.key("call_id").string(call_id);
    writer.end_object();
}

void write_image_context(std::string& out, std::span<const std::string> left_out) {
    Writer writer(out);
    writer.begin_object().key("type").string("image_context").key("omitted_ids").begin_array();
    for (const std::string& id : left_out) writer.string_lossy(id);
    writer.end_array().end_object();
}

void write_ask_user_request(std::string& out, const QuestionRef& about,
                            const core::AskedQuestion& question) {
    Writer writer(out);
    writer.begin_object()
        .key("type")
        .string("ask_user_request")
        .key("request_id")
        .string(about.request_id)
        .key("session_id")
        .string(about.session_id);
    writer.key("turn_id")
        .string(about.turn_id)
        .key("tool_call_id")
        .string_lossy(question.tool_call_id)
        .key("kind")
        .string(core::name_of(question.kind));
    writer.key("question").string_lossy(question.question).key("options").begin_array();
    for (const auto& option : question.options) {
        writer.begin_object().key("id").string_lossy(option.id).key("label").string_lossy(
            option.label);
        if (!option.description.empty()) writer.key("description").string_lossy(option.description);
        writer.end_object();
    }
    writer.end_array();
    if (!question.placeholder.empty()) writer.key("placeholder").string_lossy(question.placeholder);
    writer.end_object();
}

void write_ask_user_ack(std::string& out, std::string_view request_id, std::string_view status,
                        std::string_view error) {
    Writer writer(out);
    writer.begin_object()
        .key("type")
        .string("ask_user_ack")
        .key("request_id")
        .string_lossy(request_id)
        .key("status")
        .string(status);
    if (!error.empty()) writer.key("error").string_lossy(error);
    writer.end_object();
}

void write_approval_request(std::string& out, const core::ApprovalQuestion& question) {
    const core::ApprovalSubject& subject = question.subject;
    Writer writer(out);
    writer.begin_object()
        .key("type")
        .string("approval_request")
        .key("id")
        .string(question.id)
        .key("tool")
        .string(subject.tool);
    writer.key("args")
        .string_lossy(question.args)
        .key("description")
        .string_lossy(question.description);
    if (!subject.rule.empty()) writer.key("rule").string_lossy(subject.rule);
    if (!subject.place.empty()) writer.key("worktree").string_lossy(subject.place);
    writer.key("network_policy")
        .string(core::name_of(subject.network))
        .key("privilege_level")
        .string(core::name_of(subject.privilege));
    writer.key("until").string(to_rfc3339(question.until)).end_object();
}

void write_approval_ended(std::string& out, std::string_view id, const core::ApprovalEnd& end) {
    Writer writer(out);
    writer.begin_object()
        .key("type")
        .string("approval_ended")
        .key("id")
        .string(id)
        .key("state")
        .string(core::name_of(end.state));
    if (!end.by.empty())
        writer.key("by").string_lossy(end.by).key("scope").string(core::name_of(end.scope));
    writer.end_object();
}

void write_approval_refused(std::string& out, std::string_view id, std::string_view code,
                            std::string_view message) {
    Writer(out)
        .begin_object()
        .key("type")
        .string("approval_refused")
        .key("id")
        .string_lossy(id)
        .key("code")
        .string(code)
        .key("message")
        .string_lossy(message)
        .end_object();
}

Result<ApprovalWord> parse_approval_decision(Element frame) {
    const auto id = json::get_string(frame, "id");
    const std::string_view word = json::get_string(frame, "decision").value_or("");
    const auto scope = core::find_approval_scope(json::get_string(frame, "scope").value_or("once"));
    if (!id || id->empty() || (word != "allow" && word != "deny") || !scope) {
        return fail(ErrorCode::kInvalidArgs,
                    "`approval_decision` needs `id`, `decision` (allow or deny), and perhaps "
                    "`scope` (once, session or always)");
    }
    return ApprovalWord{.id = std::string(*id),
                        .decision = {.allow = word == "allow", .scope = *scope, .by = {}}};
}

void write_title_updated(std::string& out, std::string_view title) {
    json::Writer(out)
        .begin_object()
        .key("type")
        .string("title_updated")
        .key("title")
        .string_lossy(title)
        .end_object();
}

namespace {

/// The member `metrics` of `done` and of a stored answer.
void append_metrics(Writer& writer, const core::TurnMetrics& metrics) {
    writer.key("metrics").begin_object();
    if (metrics.input_tokens) writer.key("input_tokens").integer(*metrics.input_tokens);
    if (metrics.output_tokens) writer.key("output_tokens").integer(*metrics.output_tokens);
    if (metrics.cached_input_tokens)
        writer.key("cached_input_tokens").integer(*metrics.cached_input_tokens);
    if (metrics.cached_input_tokens && metrics.input_tokens.value_or(0) > 0) {
        writer.key("cache_hit_ratio")
            .number(std::clamp(static_cast<double>(*metrics.cached_input_tokens) /
                                   static_cast<double>(*metrics.input_tokens),
                               0.0, 1.0));
    }
    if (metrics.output_tokens && metrics.generating.count() > 0) {
        writer.key("output_tokens_per_second")
            .number(static_cast<double>(*metrics.output_tokens) * 1'000 /
                    static_cast<double>(metrics.generating.count()));
    }
    writer.key("elapsed_ms").integer(metrics.elapsed.count()).end_object();
}

/// One presentation as it is; of several the blocks in their order, of those that have the version
/// of the first.
std::string joined(std::span<const std::string> presentations) {
    if (presentations.size() == 1) return presentations.front();
    json::Parser parser;
    std::optional<std::int64_t> version;
    std::string blocks;
    for (const std::string& presentation : presentations) {
        const auto root = parser.parse(presentation);
        const auto list = root ? json::get_array(root->element(), "blocks") : std::nullopt;
        const auto its = root ? json::get_int64(root->element(), "version") : std::nullopt;
        if (!list || !its || version.value_or(*its) != *its) continue;
        version = its;
        for (const Element block : *list)
            blocks += (blocks.empty() ? "" : ",") + json::to_text(block);
    }
    return fmt::format(R"({{"version":{},"blocks":[{}]}})", version.value_or(1), blocks);
}

}  // namespace

std::string answer_display(std::span<const std::string> presentations,
                           const core::TurnMetrics* metrics) {
    if (presentations.empty() && metrics == nullptr) return {};
    std::string out;
    Writer writer(out);
    writer.begin_object();
    if (!presentations.empty()) writer.key("presentation").raw(joined(presentations));
    if (metrics != nullptr) append_metrics(writer, *metrics);
    writer.end_object();
    return out;
}

void write_done(std::string& out, std::string_view full_response,
                const core::TurnMetrics* metrics) {
    Writer writer(out);
    writer.begin_object()
        .key("type")
        .string("done")
        .key("full_response")
        .string_lossy(full_response);
    if (metrics != nullptr) append_metrics(writer, *metrics);
    writer.end_object();
}

void write_plain(std::string& out, std::string_view type) {
    begin(out, type);
    out += '}';
}

void write_abort_ack(std::string& out, bool aborted) {
    begin(out, "abort_ack");
    text_member(out, "status", aborted ? "aborted" : "no_active_response");
    out += '}';
}

std::optional<UnreadableReply> find_unreadable_reply(std::string_view frame) {
    FrameScan scan;
    scan.feed(frame);
    const bool is_error = scan.type() == "tool_error";
    if (!scan.is_complete() || scan.id().empty() || (!is_error && scan.type() != "tool_result"))
        return std::nullopt;
    return UnreadableReply{.id = scan.id(), .is_error = is_error};
}

Error error_from_text(std::string_view text) {
    Error error{.code = ErrorCode::kToolFailed,
                .message = std::string(text),
                .details = {},
                .retryable = {},
                .retry_after = {}};
    const bool bracketed = text.starts_with('[');
    const std::string_view rest = bracketed ? text.substr(1) : text;
    for (const auto& [word, code] : kClaimable) {
        if (rest.starts_with(word) &&
            rest.substr(word.size()).starts_with(bracketed ? "] " : ": ")) {
            error.code = code;
            break;
        }
    }
    // The device has seen the call: "busy" and "unavailable" are its words, and no proof that
    // nothing happened. They may come from the tool itself, or from a result that could not be
    // taken away.
    error.retryable = false;
    return error;
}

namespace {

constexpr std::size_t kMostFiles = 4, kMostName = 255, kMostExcerpt = 8'000, kMostExcerpts = 16'000;
constexpr std::int64_t kMostFileBytes = std::int64_t{20} << 20,
                       kMostFilesBytes = std::int64_t{50} << 20, kMostUnits = 2'000'000,
                       kMostPages = 300;

/// A result with its form for people, if it brings one that is fit: the newest phone app's
/// `{"version","blocks"}`.
core::Outcome with_presentation(core::Outcome outcome, const std::optional<Element>& given) {
    if (!outcome || !given || !given->is_object() || !json::get_int64(*given, "version") ||
        !json::get_array(*given, "blocks"))
        return outcome;
    std::string text = json::to_text(*given);
    if (text.size() > kMostPresentation) return outcome;
    outcome->extras = std::make_shared<const core::ResultExtras>(
        core::ResultExtras{.unenforced = {}, .place = {}, .presentation = std::move(text)});
    return outcome;
}

struct FileForm {
    std::string_view format, mime_type, unit;
};
constexpr std::array kFileForms{
    FileForm{"md", "text/markdown", "character"}, FileForm{"txt", "text/plain", "character"},
    FileForm{"csv", "text/csv", "record"}, FileForm{"pdf", "application/pdf", "page"},
    FileForm{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
             "character"}};

bool is_file_id(std::string_view id) {
    return id.size() == 37 && id.starts_with("file_") &&
           id.substr(5).find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// What all files of a message come to.
struct FileSums {
    std::int64_t bytes = 0;
    std::size_t characters = 0;
    std::vector<std::string_view> ids{};
};

/// Why an element of `files` is refused; nothing when it is fine.
std::optional<std::string> fault_of_file(Element file, FileSums& sums) {
    const auto text = [&](std::string_view member) {
        return json::get_string(file, member).value_or("");
    };
    const std::string_view id = text("id");
    if (!is_file_id(id) || std::ranges::find(sums.ids, id) != sums.ids.end())
        return "id: `file_` and 32 hexadecimal digits, each once";
    sums.ids.push_back(id);
    const std::size_t name = json::count_code_points(text("name"));
    if (name == 0 || name > kMostName) return "name: 1 to 255 characters";
    const std::int64_t size = json::get_int64(file, "size_bytes").value_or(0);
    if (size <= 0 || size > kMostFileBytes) return "size_bytes: 1 to 20 MiB";
    const auto form = std::ranges::find(kFileForms, text("format"), &FileForm::format);
    if (form == kFileForms.end() || text("mime_type") != form->mime_type ||
        text("unit") != form->unit)
        return "format: md, txt, csv, pdf or docx, with its mime_type and unit";
    if (json::get_string(file, "status").value_or("ready") != "ready") return "status: not ready";
    const std::int64_t total = json::get_int64(file, "total").value_or(0);
    if (total <= 0 || total > (form->unit == "page" ? kMostPages : kMostUnits))
        return "total: out of range";
    const auto excerpt = json::get(file, "excerpt");
    if (!excerpt || !excerpt->is_object()) return "excerpt: required";
    const std::int64_t next = json::get_int64(*excerpt, "next").value_or(-1);
    const std::string_view content = json::get_string(*excerpt, "content").value_or("");
    const std::size_t characters = json::count_code_points(content);
    const bool in_range = json::get_string(*excerpt, "attachment_id") == id &&
                          json::get_string(*excerpt, "unit") == form->unit &&
                          json::get_int64(*excerpt, "total") == total &&
                          json::get_int64(*excerpt, "start") == 0 && next >= 0 && next <= total &&
                          json::get_bool(*excerpt, "eof") == (next == total);
    if (!in_range || characters > kMostExcerpt || (next == 0 && characters > 0) ||
        (form->unit == "character" && characters != static_cast<std::size_t>(next)))
        return "excerpt: its range is not that of its content";
    sums.bytes += size;
    sums.characters += characters;
    return std::nullopt;
}

}  // namespace

std::expected<Attachments, AttachmentFault> parse_attachments(const json::Root& root) {
    Attachments found;
    const auto refuse = [](std::string_view code, std::string why) {
        return std::unexpected(AttachmentFault{.code = code, .message = std::move(why)});
    };
    constexpr std::string_view kBadPicture = "INVALID_IMAGE_MESSAGE",
                               kBadFile = "INVALID_FILE_MESSAGE";
    if (const auto given = json::get(root.element(), "attachments"); given && !given->is_null()) {
        json::Array list;
        if (given->get(list) != simdjson::SUCCESS)
            return refuse(kBadPicture, "/attachments: a list");
        for (const Element item : list) {
            const std::string id(json::get_string(item, "id").value_or(""));
            if (json::get_string(item, "type") != "image" || !core::is_picture_id(id))
                return refuse(kBadPicture, R"(/attachments: elements are {"type":"image",)"
                                           R"("id"} with an id that an upload gave)");
            if (found.pictures.size() == core::kMostPictures)
                return refuse(kBadPicture, "/attachments: at most 4 pictures in one message");
            found.pictures.push_back(id);
        }
    }
    if (const auto given = json::get(root.element(), "files"); given && !given->is_null()) {
        json::Array list;
        if (given->get(list) != simdjson::SUCCESS) return refuse(kBadFile, "/files: a list");
        FileSums sums;
        std::size_t place = 0;
        for (const Element item : list) {
            if (place == kMostFiles)
                return refuse(kBadFile, "/files: at most 4 files in one message");
            if (auto fault = fault_of_file(item, sums))
                return refuse(kBadFile, "/files/" + std::to_string(place) + "/" + *fault);
            ++place;
        }
        if (sums.bytes > kMostFilesBytes || sums.characters > kMostExcerpts)
            return refuse(kBadFile,
                          "/files: at most 50 MiB and 16000 characters of excerpts in one message");
        if (place > 0) found.files = json::to_text(*given);
    }
    return found;
}

ReplyMembers read_reply(const json::Root& root) {
    ReplyMembers reply;
    json::Object frame;
    if (root.element().get(frame) != simdjson::SUCCESS) return reply;
    const auto read = [](auto& field, Element value) {
        typename std::remove_cvref_t<decltype(field)>::value_type found;
        if (!field && value.get(found) == simdjson::SUCCESS) field = found;
    };
    for (const auto [name, value] : frame) {
        if (name == "id") read(reply.id, value);
        if (name == "output" && !reply.output) reply.output = value;
        if (name == "success") read(reply.success, value);
        if (name == "error") read(reply.error, value);
        if (name == "artifact") read(reply.artifact, value);
        if (name == "presentation" && !reply.presentation) reply.presentation = value;
    }
    return reply;
}

core::Outcome parse_tool_result(const json::Root& root, const ReplyMembers& reply) {
    const auto& output = reply.output;
    if (reply.success.value_or(true)) {
        if (!output || output->is_null())
            return with_presentation(text_result({}), reply.presentation);
        std::string_view text;
        if (output->get(text) == simdjson::SUCCESS)
            return with_presentation(text_result(std::string(text)), reply.presentation);
        core::ToolResult result;
        result.kind = core::ContentKind::kJson;
        // The bytes received, less the white space between them.
        const std::string_view raw = root.raw(*output);
        if (root.is_compact())
            result.content = raw;
        else
            json::append_compact(result.content, raw);
        return with_presentation(std::move(result), reply.presentation);
    }
    if (reply.error) return fail(error_from_text(*reply.error));
    if (output && !output->is_null()) return fail(error_from_text(output_text(*output)));
    return fail(error_from_text("Unknown error"));
}

core::Outcome parse_tool_error(const ReplyMembers& reply) {
    return fail(error_from_text(reply.error.value_or("Unknown error")));
}

core::Progress parse_progress(Element frame) {
    return core::Progress{.message = std::string(json::get_string(frame, "message").value_or("")),
                          .progress = json::get_double(frame, "progress"),
                          .total = json::get_double(frame, "total")};
}

}  // namespace crab::clawseed

#include "core/audit/audit_text.hpp"

#include <array>

namespace crab::core {
namespace {

constexpr std::string_view kCsvHead =
    "time,event,call_id,front,principal,proof,tenant,agent,session,trace_id,tool,source,decision,"
    "rule,status,code,message,duration_us,args_bytes,result_bytes,record\r\n";
constexpr std::array<std::string_view, 17> kTexts{
    "time",     "event", "call_id", "front",    "principal", "proof",
    "tenant",   "agent", "session", "trace_id", "tool",      "source",
    "decision", "rule",  "status",  "code",     "message"};
constexpr std::array<std::string_view, 3> kNumbers{"duration_us", "args_bytes", "result_bytes"};

/// Where a spreadsheet sees a formula: what OWASP lists ("CSV Injection"), and the wide forms of
/// those characters, behind blanks too.
bool is_formula(std::string_view text) {
    static constexpr std::array<std::string_view, 8> kSigns{"=",      "+",      "-",      "@",
                                                            "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"};
    if (text.starts_with('\t') || text.starts_with('\r') || text.starts_with('\n')) return true;
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return false;
    for (const std::string_view sign : kSigns)
        if (text.substr(begin).starts_with(sign)) return true;
    return false;
}

void append_field(std::string& out, std::string_view text) {
    out += is_formula(text) ? "\"'" : "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    out += '"';
}

}  // namespace

void append_found(json::Writer& writer, const AuditFound& found) {
    json::Parser parser;
    writer.begin_object().key("records").begin_array();
    for (const std::string& record : found.records) {
        if (parser.parse(record))
            writer.raw(record);
        else
            writer.string_lossy(record);
    }
    writer.end_array();
    if (found.cursor) writer.key("cursor").string(found.cursor->text());
    if (found.scanned_to) writer.key("scanned_to").string(to_rfc3339(*found.scanned_to));
    writer.key("complete").boolean(!found.cursor).end_object();
}

void append_members(json::Writer& writer, const AuditCheck& check) {
    writer.key("intact").boolean(check.intact);
    writer.key("records").unsigned_integer(check.records);
    writer.key("batches").unsigned_integer(check.batches);
    writer.key("first_sequence").unsigned_integer(check.first_sequence);
    writer.key("last_sequence").unsigned_integer(check.last_sequence);
    writer.key("head_hash").string(check.head_hash);
    if (!check.intact) writer.key("problem").string(check.problem);
}

std::string_view AuditCsv::head() { return kCsvHead; }

void AuditCsv::append_row(std::string& out, std::string_view record) {
    const auto root = parser_.parse(record);
    for (const std::string_view name : kTexts) {
        const auto text = root ? json::get_string(root->element(), name) : std::nullopt;
        if (text && !text->empty()) append_field(out, *text);
        out += ',';
    }
    for (const std::string_view name : kNumbers) {
        if (const auto number = root ? json::get_int64(root->element(), name) : std::nullopt)
            out += std::to_string(*number);
        out += ',';
    }
    append_field(out, record);
    out += "\r\n";
}

}  // namespace crab::core

#pragma once

#include "core/audit/audit_search.hpp"
#include "json/writer.hpp"

#include <string>
#include <string_view>

namespace crab::core {

/// `{"records":[…],"cursor":…,"scanned_to":…,"complete":…}`; a record that is no JSON is a string.
void append_found(json::Writer& writer, const AuditFound& found);
/// The members of an AuditCheck: `"intact":…,"records":…,…`.
void append_members(json::Writer& writer, const AuditCheck& check);

/// Records as CSV (RFC 4180), for spreadsheets: members that most of them have as columns, then the
/// whole record. What a spreadsheet would take for a formula gets an apostrophe before it.
class AuditCsv {
public:
    static std::string_view head();
    void append_row(std::string& out, std::string_view record);

private:
    json::Parser parser_;
};

}  // namespace crab::core

#pragma once

#include "base/clock.hpp"
#include "core/audit_log.hpp"
#include "json/writer.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace crab::core {

/// Records what is no call: `{"event":…,"time":…,…}`, the rest written by `members`. Thread-safe, as AuditLog::append() is.
inline void append_event(AuditLog& audit, const Clock& clock, std::string_view event, const std::function<void(json::Writer&)>& members) {
    audit.append([&](std::string& out) {
        json::Writer writer(out);
        writer.begin_object().key("event").string(event).key("time").string(to_rfc3339(clock.system_now()));
        members(writer);
        writer.end_object();
    });
}

}  // namespace crab::core

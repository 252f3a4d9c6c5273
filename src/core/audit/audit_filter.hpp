#pragma once

#include "base/glob.hpp"
#include "core/audit/audit_store.hpp"
#include "json/parser.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::core {

/// The parameters of a search in the audit log, and what they mean. Texts without `agent`,
/// `session`, `rule` and `trace_id` are lists with commas.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kAuditParameters{
    {{"from", "recorded at this time or later (RFC 3339); a call is recorded when it has ended"},
     {"to", "recorded at this time or earlier"},
     {"tool", "the tool that was called; here as below * and ? stand for any text, commas for or"},
     {"principal", "who called or caused it"},
     {"agent", "the agent that it was for"},
     {"session", "the session that it was in"},
     {"source", "where the tool came from: device/phone, built_in/memory"},
     {"status",
      "ok, error, retryable_error, timeout, cancelled, unknown; dispatching: about to run"},
     {"code", "the error's code: TIMEOUT, FORBIDDEN"},
     {"decision", "of the policy: allow, deny, needs_approval"},
     {"rule", "the policy's rule that decided"},
     {"event", "what is not a call: lease.granted, admin.change"},
     {"front", "how it came: http, chat, mcp, console"},
     {"trace_id", "the trace that it is part of"},
     {"min_us", "calls that took so many microseconds or more"},
     {"q", "words that all stand in values of the record, in any case"}}};

/// Which audit records are looked for. Immutable.
class AuditFilter {
public:
    /// The value of a parameter, if it was given.
    using Given = std::function<std::optional<std::string>(std::string_view name)>;

    AuditFilter() = default;  ///< all
    /// Of kAuditParameters. Errors: kInvalidArgs.
    static Result<AuditFilter> read(const Given& given);

    /// Whether that record of the batch is looked for; one that is no JSON only by an empty filter.
    bool matches(std::string_view record, const StoredAuditBatch& batch,
                 json::Parser& parser) const;
    /// Nothing recorded after `time` is looked for.
    void end_at(SystemTime time) { to_ = std::min(to_, time); }
    SystemTime from() const { return from_; }
    SystemTime to() const { return to_; }

private:
    struct Member {
        std::string_view name;
        std::vector<Glob> any;
        std::vector<std::string> needles;  ///< one of them stands in each record that fits
    };
    void add_member(std::string_view name, std::string_view text);
    bool may_match(std::string_view record) const;
    bool fits(json::Element record, const StoredAuditBatch& batch) const;

    SystemTime from_{}, to_ = SystemTime::max();
    std::vector<Member> members_;
    std::optional<std::int64_t> min_us_;
    std::vector<std::string> words_;  ///< in lower case
};

}  // namespace crab::core

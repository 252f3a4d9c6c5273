#pragma once

#include "core/audit/audit_store.hpp"
#include "core/call/principal.hpp"
#include "core/call/tool.hpp"
#include "core/pipeline/call_events.hpp"
#include "core/policy/policy.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace crab::core {

/// Factories for tests and benchmarks.
inline PrincipalRef principal_of(std::string id, Roles roles = {Role::kCaller},
                                 std::string tenant = {}) {
    auto made = std::make_shared<Principal>();
    made->id = std::move(id);
    made->roles = roles;
    made->tenant = TenantId(std::move(tenant));
    return made;
}

inline std::shared_ptr<const Policy> policy_of(std::vector<PolicyRule> rules = {}) {
    return Policy::make(std::move(rules)).value();
}

inline std::vector<Glob> globs(std::initializer_list<const char*> patterns) {
    std::vector<Glob> made;
    for (const char* pattern : patterns) made.emplace_back(pattern);
    return made;
}

/// A tool of the device `slug` on `connection`; a built-in one when `slug` is empty.
inline std::shared_ptr<Tool> tool_of(std::string name, std::string slug = {},
                                     ConnectionId connection = {}, std::string tenant = {},
                                     ToolSpec spec = {}) {
    spec.name = std::move(name);
    auto tool = make_tool(std::move(spec)).value();
    const SourceKind kind = slug.empty() ? SourceKind::kBuiltIn : SourceKind::kDevice;
    tool->set_source(
        {.kind = kind, .name = std::move(slug), .owner = {}, .connection = connection});
    tool->tenant = TenantId(std::move(tenant));
    return tool;
}

/// Records call events: `+id` when a call is sent, `-id status` when it has ended.
class HeardCalls final : public CallEvents {
public:
    bool wants(const Tool&) const override { return wanted; }
    std::unique_ptr<NewEvent> request(const AdmittedCall& call, UuidText request_id) override {
        auto made = std::make_unique<NewEvent>();
        made->event.event_id = request_id.view();
        made->event.envelope = "request of " + std::string(call.call().id);
        made->event.addressee = "the host";
        made->call_id = call.call().id;
        return made;
    }
    bool requested(NewEvent request) override {
        if (refusing) return false;
        strays_ += !open_.insert(request.event.event_id).second;
        lines.push_back("+" + request.call_id);
        return true;
    }
    void ended(const AdmittedCall& call, UuidText request_id, UuidText, const Outcome& outcome,
               std::chrono::nanoseconds) override {
        strays_ += open_.erase(std::string(request_id.view())) != 1;
        lines.push_back("-" + std::string(call.call().id) + " " +
                        std::string(name_of(status_of(outcome))));
    }
    /// Whether each call ended exactly once.
    bool all_ended() const { return open_.empty() && strays_ == 0; }

    bool wanted = true, refusing = false;
    std::vector<std::string> lines;

private:
    std::set<std::string> open_;
    int strays_ = 0;
};

/// Keeps audit batches in memory; refuses them while `failing`.
class AuditStoreMemory : public AuditStore {
public:
    Result<void> append(const AuditBatch& batch) override {
        const std::scoped_lock lock(mutex_);
        if (failing_) return fail(ErrorCode::kUnavailable, "the disk is full");
        ++batches_;
        for (std::string_view rest = batch.records; !rest.empty();) {
            const std::size_t end = rest.find('\n');
            records_.emplace_back(rest.substr(0, end));
            rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        }
        return {};
    }
    Result<std::vector<std::string>> latest(std::size_t limit) override {
        const std::scoped_lock lock(mutex_);
        std::vector<std::string> newest(records_.rbegin(), records_.rend());
        if (newest.size() > limit) newest.resize(limit);
        return newest;
    }
    Result<std::optional<std::string>> find_call(std::string_view call_id, SystemTime) override {
        const std::scoped_lock lock(mutex_);
        const std::string needle = "\"call_id\":\"" + std::string(call_id) + "\"";
        for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
            if (record->find(needle) != std::string::npos) return *record;
        }
        return std::nullopt;
    }
    Result<void> read(const AuditRange&,
                      const std::function<bool(const StoredAuditBatch&)>& take) override {
        std::uint64_t sequence = 0;
        for (const std::string& record : records()) {
            if (!take({.sequence = ++sequence, .first = {}, .last = {}, .records = record})) break;
        }
        return {};
    }
    Result<AuditCheck> verify_chain(const std::stop_token&) override { return AuditCheck{}; }
    Result<std::uint64_t> prune(SystemTime) override { return 0; }

    void set_failing(bool failing) {
        const std::scoped_lock lock(mutex_);
        failing_ = failing;
    }
    std::vector<std::string> records() const {
        const std::scoped_lock lock(mutex_);
        return records_;
    }
    std::size_t batches() const {
        const std::scoped_lock lock(mutex_);
        return batches_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> records_;
    std::size_t batches_ = 0;
    bool failing_ = false;
};

}  // namespace crab::core

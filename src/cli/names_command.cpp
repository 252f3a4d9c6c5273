#include "base/clock.hpp"
#include "cli/admin_client.hpp"
#include "cli/contexts.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"

#include <algorithm>
#include <array>

namespace crab::cli {
namespace {

using namespace std::chrono_literals;

/// Nobody waits longer for the Tab key.
constexpr Milliseconds kPatience = 700ms;
constexpr std::size_t kMostNames = 5000;

struct NameSource {
    std::string_view kind, path, members, member;
    std::string_view public_path = {};  ///< where a URL has the same
};
constexpr std::array<NameSource, 8> kSources{{
    {"tools", "/v1/admin/tools?view=brief&limit=1000", "tools", "name", "/v1/tools"},
    {"calls", "/v1/admin/calls?limit=50", "running recent", "call_id"},
    {"devices", "/v1/admin/devices", "devices", "device"},
    {"approvals", "/v1/admin/approvals", "approvals", "id"},
    {"tokens", "/v1/admin/devices", "callers devices", "tokens"},
    {"sessions", "/api/sessions?limit=100", "sessions", "session_id", "/api/sessions?limit=100"},
    {"artifacts", "/v1/artifacts", "artifacts", "id", "/v1/artifacts"},
    {"peers", "/v1/peers", "peers", "component_id"},
}};

/// A name that a shell could take for something else is not offered.
void offer(const std::string& name) {
    constexpr std::string_view kSafe =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@+";
    if (!name.empty() && name.find_first_not_of(kSafe) == std::string::npos && name[0] != '-')
        print_line(name);
}

void offer_row(const NameSource& source, const json::Value& row) {
    if (source.kind == "tokens") {
        for (const json::Value& token : items_of(row, "tokens"))
            if (!flag_of(token, "revoked")) offer(text_of(token, "id"));
    } else if (source.kind == "peers") {
        offer(text_of(row, "component_type") + "/" + text_of(row, "component_id"));
    } else if (source.kind != "approvals" || text_of(row, "state") == "pending") {
        offer(text_of(row, source.member));
    }
}

int offer_contexts() {
    offer(std::string(Contexts::kLocal));
    if (const auto contexts = Contexts::load(Contexts::file())) {
        for (const Context& context : contexts->all) offer(context.name);
    }
    return kExitOk;
}

}  // namespace

int run(const CompletionNames& options) {
    if (options.kind == "contexts") return offer_contexts();
    const auto source = std::ranges::find(kSources, options.kind, &NameSource::kind);
    Target target = options.target;
    target.may_be_remote = source != kSources.end() && !source->public_path.empty();
    if (source == kSources.end() || !settle(target)) return kExitOk;
    Result<AdminClient> client = AdminClient::make(target);
    if (!client) return kExitOk;
    const auto answer =
        accepted(client->get(std::string(client->is_remote() ? source->public_path : source->path),
                             RealClock().steady_now() + kPatience));
    if (!answer) return kExitOk;
    std::size_t offered = 0;
    for (std::string_view members = source->members; !members.empty();) {
        const std::string_view member = members.substr(0, members.find(' '));
        members.remove_prefix(std::min(member.size() + 1, members.size()));
        for (const json::Value& row : items_of(*answer, member)) {
            if (offered++ == kMostNames) return kExitOk;
            offer_row(*source, row);
        }
    }
    return kExitOk;
}

}  // namespace crab::cli

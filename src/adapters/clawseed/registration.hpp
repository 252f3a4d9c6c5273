#pragma once

#include "adapters/clawseed/wire.hpp"
#include "core/call/tool_schemas.hpp"
#include "core/policy/policy.hpp"
#include "core/registry/registry.hpp"
#include "json/element.hpp"
#include "json/parser.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace crab::clawseed {

struct RegistrationLimits {
    std::size_t tools = 256;               ///< names that one connection holds at one time
    std::size_t elements = 4'096;          ///< of one list that are looked at
    std::size_t name_bytes = 128;
    std::size_t description_bytes = 8 * 1024;
    std::size_t parameters_bytes = 64 * 1024;
    std::size_t parameters_depth = 32;
    /// Of all compiled schemas that one principal's connections hold
    std::size_t schema_bytes = std::size_t{16} << 20;
    Milliseconds default_timeout{30'000};  ///< of a tool that claims none
    Milliseconds max_timeout{120'000};     ///< upper bound for claims
};

/// The operator's overrides for the claims of tools with matching names.
struct ToolOverride {
    Glob match;
    std::optional<Milliseconds> timeout, max_timeout;
    std::optional<std::uint32_t> max_concurrency;
    std::optional<std::size_t> queue;
    std::optional<bool> trust_annotations, idempotent, side_effects;
};

/// The result of reading a tool list: accepted and rejected elements. Source:
/// docs/protocols/clawseed.md, section 3.
struct Registration {
    struct Taken {
        std::size_t index = 0;                          ///< in the list
        std::shared_ptr<core::Tool> tool;               ///< source and host still unset
    };
    std::size_t count = 0;                              ///< the array's length
    std::vector<Taken> taken;                           ///< of duplicate names the last
    std::vector<Rejected> rejected;                     ///< the first 256
    std::size_t refused = 0;                            ///< how many were rejected in all
    std::size_t schema_bytes = 0;  ///< compiled schemas of the connection, this list included
    bool replace = false;
    void reject(Rejected element);
};

/// A tool that the connection has registered before.
struct RegisteredTool {
    std::string name;
    std::size_t schema_bytes = 0;
};

struct RegistrationContext {
    const core::Registry& registry;
    std::shared_ptr<const core::Policy> policy;
    core::PrincipalRef principal;
    RegistrationLimits limits;
    std::vector<ToolOverride> overrides;
    std::vector<RegisteredTool> held;  ///< sorted by name; empty when the list replaces them
    /// What other connections of the principal hold; empty: nothing
    std::function<std::size_t()> schema_bytes_of_others{};
    bool believes_claims = false;  ///< whether the device's read_only and idempotent claims count
};

/// Reads one `register_tools` frame in slices, on any thread, since schemas may take long to
/// compile.
class RegistrationReader {
public:
    /// `frame` is the text of the frame, of at most `json_depth`.
    RegistrationReader(std::string frame, std::size_t json_depth, RegistrationContext context);

    /// Works for about `slice`; true while there is more to do.
    bool step(std::chrono::steady_clock::duration slice = std::chrono::milliseconds(5));
    Registration take() { return std::move(registration_); }

private:
    void begin();
    void read(json::Element element, std::size_t index);
    Result<std::shared_ptr<core::Tool>> make(json::Element element, bool is_known);

    const std::string frame_;
    json::Parser parser_;
    const RegistrationContext context_;
    std::optional<json::Array> list_;
    json::Array::iterator at_;
    std::size_t index_ = 0;
    std::size_t held_ = 0;  ///< names, with those that were taken
    std::map<std::string, std::size_t, std::less<>> taken_;  ///< where in `taken`, by name
    core::SchemaBudget budget_;
    std::size_t kept_bytes_ = 0;  ///< of held tools that the list does not name
    bool begun_ = false;
    Registration registration_;
};

}  // namespace crab::clawseed

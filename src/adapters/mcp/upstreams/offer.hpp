#pragma once

#include "adapters/mcp/upstreams/catalog_reading.hpp"
#include "adapters/mcp/upstreams/list_reading.hpp"
#include "adapters/mcp/upstreams/pins.hpp"
#include "adapters/mcp/upstreams/tool_reading.hpp"
#include "adapters/mcp/upstreams/upstream_calls.hpp"
#include "adapters/mcp/wire/catalogs.hpp"
#include "core/call/tool.hpp"
#include "core/call/tool_gate.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace crab::mcp {

/// An upstream's lists, as they came.
struct RawLists {
    std::vector<std::string> tools, resources, templates, prompts;
    std::string instructions;
    std::size_t beyond = 0;  ///< entries above the limits
    friend bool operator==(const RawLists&, const RawLists&) = default;
};

/// They read into what can be offered; judged by nobody yet.
struct ReadLists {
    ToolReading tools;
    CatalogReading resources, templates, prompts;
    std::string instructions;
    std::size_t beyond = 0;
    std::vector<PinnedText> pinned;  ///< everything that pins are about, with digests

    std::vector<SkippedEntry> left_out() const;
};
/// Compiles schemas: not for event loops.
ReadLists read_lists(const RawLists& raw, const ToolRules& rules, ParamHeaders headers);

/// Tools and prompts whose names look like others: for those of other sources in `elsewhere`. Takes
/// time: not for event loops.
std::vector<HeldBack> find_look_alikes(const ReadLists& lists, const LookAlikes& elsewhere);

/// The upstream's own tools as they are registered, by what they were made of. The registry has
/// them; each has the upstream.
using OfferedTools = std::map<crypto::Sha256Digest, std::weak_ptr<const core::Tool>>;

/// What is registered and published of an upstream.
struct Offer {
    std::vector<core::ToolRef> tools;  ///< those of methods and the held back included
    std::size_t usable = 0;  ///< of the upstream's own tools
    std::shared_ptr<const OfferedTools> own;  ///< these
    std::shared_ptr<Catalog> catalog;  ///< without its flags and its tenant
};
struct OfferTerms {
    core::ToolSource source;
    std::shared_ptr<UpstreamCalls> calls;
    std::shared_ptr<core::ToolGate> gate;  ///< of all its calls
    /// Whether a plain name belongs to a tool of the gateway itself
    std::function<bool(std::string_view)> is_reserved;
    /// Nothing of it may be used, not even what it does not list
    std::optional<HeldBack::Why> holds_all{};
    /// Those of the offer before, of the same source, calls, gate and rules; may be null. What has
    /// not changed is the same tool again, so that nobody has to look at all of a long list.
    std::shared_ptr<const OfferedTools> before{};
};
/// Takes time with long lists: not for event loops.
Offer make_offer(const ReadLists& lists, const std::vector<HeldBack>& held,
                 const OfferTerms& terms);

}  // namespace crab::mcp

#include "adapters/mcp/wire/revision.hpp"

#include "json/writer.hpp"

#include <algorithm>

namespace crab::mcp {
namespace {

constexpr std::array<std::string_view, kRevisions> kNames{"2024-11-05", "2025-03-26", "2025-06-18",
                                                          "2025-11-25", "2026-07-28"};
constexpr std::array<Revision, kRevisions> kNewestFirst{
    Revision::k2026_07_28, Revision::k2025_11_25, Revision::k2025_06_18, Revision::k2025_03_26,
    Revision::k2024_11_05};

}  // namespace

std::string_view name_of(Revision revision) { return kNames[static_cast<std::size_t>(revision)]; }

std::string_view name_of(Era era) { return era == Era::kLegacy ? "legacy" : "modern"; }

std::optional<Revision> find_revision(std::string_view name) {
    const auto* const found = std::ranges::find(kNames, name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<Revision>(found - kNames.begin());
}

RevisionSet::RevisionSet(std::span<const Revision> enabled) : bits_(0) {
    for (const Revision one : enabled)
        bits_ = static_cast<std::uint8_t>(bits_ | (1U << static_cast<unsigned>(one)));
}

std::optional<Revision> RevisionSet::newest(Era era) const {
    for (const Revision one : kNewestFirst) {
        if (contains(one) && era_of(one) == era) return one;
    }
    return std::nullopt;
}

std::optional<Revision> RevisionSet::negotiate(std::string_view requested) const {
    const auto known = find_revision(requested);
    if (known && contains(*known) && era_of(*known) == Era::kLegacy) return known;
    return newest(Era::kLegacy);
}

std::optional<Revision> RevisionSet::newest_common(std::span<const std::string_view> theirs) const {
    for (const Revision one : kNewestFirst) {
        if (contains(one) && std::ranges::find(theirs, name_of(one)) != theirs.end()) return one;
    }
    return std::nullopt;
}

std::string RevisionSet::to_json() const {
    std::string out;
    json::Writer writer(out);
    writer.begin_array();
    for (const Revision one : kNewestFirst) {
        if (contains(one)) writer.string(name_of(one));
    }
    writer.end_array();
    return out;
}

}  // namespace crab::mcp

#pragma once

#include "base/result.hpp"
#include "trust/pin_store.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::mcp {

/// What becomes of entries that are new (`pin:`); changed ones are held back but for kOff.
enum class PinMode : std::uint8_t { kTrustFirst, kAsk, kOff };

inline constexpr std::string_view kToolPin = "tool", kResourcePin = "resource",
                                  kTemplatePin = "template", kPromptPin = "prompt",
                                  kInstructionsPin = "instructions";
/// That a name may look like one of another source; the text is that one.
inline constexpr std::string_view kNamePin = "name";

/// That the others were accepted of this command or URL.
inline constexpr std::string_view kOriginPin = "origin";

/// An entry as its upstream describes it now.
struct PinnedText {
    std::string kind, key;
    std::string text;  ///< in canonical form
    std::string digest{};  ///< SHA-256 of it, in hex; empty: not made yet
};

/// An entry that is not offered until the operator accepts it.
struct HeldBack {
    enum class Why : std::uint8_t {
        kNew,         ///< and new ones wait (`pin: ask`)
        kChanged,     ///< since it was accepted
        kUnreadable,  ///< what was accepted is not known: the store failed
        kLooksAlike,  ///< its name can be taken for one of another source
        kTooMany,     ///< and there is no room to remember it
    };
    std::string kind, key;
    Why why = Why::kNew;
    std::string was;  ///< the accepted text; empty when there was none, or it was too long
    std::string now;
    std::string digest{};  ///< of what is accepted with it: `now`, or of a likeness `was`
    friend bool operator==(const HeldBack&, const HeldBack&) = default;
};
/// One of them as somebody has seen it.
struct SeenEntry {
    std::string kind, key, digest;
    friend bool operator==(const SeenEntry&, const SeenEntry&) = default;
};
/// `new`, `changed`, `unreadable`, `looks alike`, `too many`
std::string_view name_of(HeldBack::Why why);

/// What is accepted of one upstream, in memory. Not thread-safe. Source: docs/protocols/mcp.md,
/// section 8, "Pins".
class Pins {
public:
    /// Of what is accepted by itself; an upstream that renames its entries again and again would
    /// fill the store else.
    struct Limits {
        std::size_t most = 32'768;
        std::size_t bytes = std::size_t{64} << 20;
    };
    Pins(std::string source, PinMode mode) : Pins(std::move(source), mode, Limits()) {}
    Pins(std::string source, PinMode mode, Limits limits)
        : source_(std::move(source)), mode_(mode), limits_(limits) {}

    PinMode mode() const { return mode_; }
    /// What the store has; an error holds back everything, until a later reading succeeds.
    void know(Result<std::vector<trust::Pin>> stored);
    bool readable() const { return readable_; }
    /// Nothing of the upstream may be used: what was accepted is unknown, or new entries wait and
    /// nothing ever was accepted.
    std::optional<HeldBack::Why> holds_all() const;

    struct PinDecision {
        std::vector<HeldBack> held;
        std::vector<trust::Pin> first_seen;  ///< accepted because they are new; to be stored
    };
    /// Judges all that the upstream lists. What is first seen counts as accepted once accept() is
    /// told of it.
    PinDecision judge(const std::vector<PinnedText>& entries) const;
    /// These are stored.
    void accept(const std::vector<trust::Pin>& pins);
    /// The pin that accepts an entry as it is now.
    trust::Pin pin_of(const PinnedText& entry) const;
    /// Whether the operator has accepted that this name looks like `other`.
    bool accepts_name(const std::string& key, std::string_view other) const;

private:
    struct Known {
        std::string digest, text;
    };
    bool has_room(const trust::Pin& pin, const PinDecision& decision, std::size_t bytes) const;

    std::string source_;
    PinMode mode_;
    Limits limits_;
    std::size_t bytes_ = 0;  ///< of what is known
    bool readable_ = false;
    std::map<std::pair<std::string, std::string>, Known> known_;
};

/// Which names of other sources look like names of one. Not thread-safe.
class LookAlikes {
public:
    /// Notes a name of another source.
    void add(std::string_view name);
    /// A name of another source that `name` could be taken for, and is not; empty when there is
    /// none.
    std::string find(std::string_view name) const;
    bool empty() const { return names_.empty(); }

private:
    std::map<std::string, std::set<std::string>, std::less<>> names_;  // by skeleton
};

}  // namespace crab::mcp

#include "adapters/mcp/upstreams/pins.hpp"

#include "adapters/mcp/wire/safe_text.hpp"
#include "crypto/digest.hpp"

namespace crab::mcp {
namespace {

constexpr std::size_t kKeptText = 64 << 10;

std::string digest_of(const PinnedText& entry) {
    return entry.digest.empty() ? crypto::sha256_hex(entry.text) : entry.digest;
}

}  // namespace

std::string_view name_of(HeldBack::Why why) {
    switch (why) {
        case HeldBack::Why::kNew: return "new";
        case HeldBack::Why::kChanged: return "changed";
        case HeldBack::Why::kUnreadable: return "unreadable";
        case HeldBack::Why::kLooksAlike: return "looks alike";
        case HeldBack::Why::kTooMany: return "too many";
    }
    return "";
}

void Pins::know(Result<std::vector<trust::Pin>> stored) {
    readable_ = stored.has_value();
    if (!stored) return;
    known_.clear();
    bytes_ = 0;
    accept(*stored);
}

void Pins::accept(const std::vector<trust::Pin>& pins) {
    for (const trust::Pin& pin : pins) {
        Known& known = known_[std::pair(pin.kind, pin.key)];
        if (known.digest.empty()) bytes_ += pin.key.size();
        bytes_ += pin.text.size();
        bytes_ -= known.text.size();
        known = {pin.digest, pin.text};
    }
}

std::optional<HeldBack::Why> Pins::holds_all() const {
    if (mode_ == PinMode::kOff) return std::nullopt;
    if (!readable_) return HeldBack::Why::kUnreadable;
    if (mode_ == PinMode::kAsk && known_.empty()) return HeldBack::Why::kNew;
    return std::nullopt;
}

bool Pins::has_room(const trust::Pin& pin, const PinDecision& decision, std::size_t bytes) const {
    return known_.size() + decision.first_seen.size() < limits_.most &&
           bytes_ + bytes + pin.key.size() + pin.text.size() <= limits_.bytes;
}

trust::Pin Pins::pin_of(const PinnedText& entry) const {
    return {.source = source_,
            .kind = entry.kind,
            .key = entry.key,
            .digest = digest_of(entry),
            .text = entry.text.size() <= kKeptText ? entry.text : std::string()};
}

Pins::PinDecision Pins::judge(const std::vector<PinnedText>& entries) const {
    PinDecision decision;
    if (mode_ == PinMode::kOff) return decision;
    std::size_t bytes = 0;  // of what is first seen
    for (const PinnedText& entry : entries) {
        const auto hold = [&](HeldBack::Why why, std::string was) {
            decision.held.push_back({.kind = entry.kind,
                                     .key = entry.key,
                                     .why = why,
                                     .was = std::move(was),
                                     .now = entry.text,
                                     .digest = digest_of(entry)});
        };
        if (!readable_) {
            hold(HeldBack::Why::kUnreadable, {});
            continue;
        }
        const auto known = known_.find(std::pair(entry.kind, entry.key));
        if (known != known_.end()) {
            if (known->second.digest != digest_of(entry))
                hold(HeldBack::Why::kChanged, known->second.text);
        } else if (mode_ == PinMode::kAsk) {
            hold(HeldBack::Why::kNew, {});
        } else {
            trust::Pin pin = pin_of(entry);
            if (!has_room(pin, decision, bytes)) pin.text.clear();
            if (has_room(pin, decision, bytes)) {
                bytes += pin.key.size() + pin.text.size();
                decision.first_seen.push_back(std::move(pin));
            } else {
                hold(HeldBack::Why::kTooMany, {});
            }
        }
    }
    return decision;
}

bool Pins::accepts_name(const std::string& key, std::string_view other) const {
    const auto known = known_.find(std::pair(std::string(kNamePin), key));
    return known != known_.end() && known->second.digest == crypto::sha256_hex(other);
}

void LookAlikes::add(std::string_view name) { names_[skeleton(name)].emplace(name); }

std::string LookAlikes::find(std::string_view name) const {
    const auto found = names_.find(skeleton(name));
    if (found == names_.end()) return {};
    for (const std::string& other : found->second) {
        if (other != name) return other;
    }
    return {};
}

}  // namespace crab::mcp

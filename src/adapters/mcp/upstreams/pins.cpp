#include "adapters/mcp/upstreams/pins.hpp"

#include "adapters/mcp/wire/safe_text.hpp"
#include "crypto/digest.hpp"

namespace crab::mcp {
namespace {

constexpr std::size_t kKeptText = 64 << 10;

}  // namespace

std::string_view name_of(HeldBack::Why why) {
    switch (why) {
        case HeldBack::Why::kNew: return "new";
        case HeldBack::Why::kChanged: return "changed";
        case HeldBack::Why::kUnreadable: return "unreadable";
        case HeldBack::Why::kLooksAlike: return "looks alike";
    }
    return "";
}

void Pins::know(Result<std::vector<trust::Pin>> stored) {
    readable_ = stored.has_value();
    if (!stored) return;
    known_.clear();
    accept(*stored);
}

void Pins::accept(const std::vector<trust::Pin>& pins) {
    for (const trust::Pin& pin : pins)
        known_.insert_or_assign(std::pair(pin.kind, pin.key), Known{pin.digest, pin.text});
}

trust::Pin Pins::pin_of(const PinnedText& entry) const {
    return {.source = source_,
            .kind = entry.kind,
            .key = entry.key,
            .digest = crypto::sha256_hex(entry.text),
            .text = entry.text.size() <= kKeptText ? entry.text : std::string()};
}

Pins::Judgement Pins::judge(const std::vector<PinnedText>& entries) const {
    Judgement judgement;
    if (mode_ == PinMode::kOff) return judgement;
    for (const PinnedText& entry : entries) {
        const auto hold = [&](HeldBack::Why why, std::string was) {
            judgement.held.push_back({.kind = entry.kind,
                                      .key = entry.key,
                                      .why = why,
                                      .was = std::move(was),
                                      .now = entry.text});
        };
        if (!readable_) {
            hold(HeldBack::Why::kUnreadable, {});
            continue;
        }
        const auto known = known_.find(std::pair(entry.kind, entry.key));
        if (known != known_.end()) {
            if (known->second.digest != crypto::sha256_hex(entry.text))
                hold(HeldBack::Why::kChanged, known->second.text);
        } else if (mode_ == PinMode::kAsk) {
            hold(HeldBack::Why::kNew, {});
        } else {
            judgement.first_seen.push_back(pin_of(entry));
        }
    }
    return judgement;
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

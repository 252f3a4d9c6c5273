#include "core/ledger/outcome_ring.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace crab::core {
namespace {

constexpr std::size_t kAlign = 8;
constexpr std::size_t kLargest = std::size_t{64} << 10;  ///< beyond it an outcome stays on the heap

/// What an outcome on the heap counts.
std::size_t bytes_of(const Outcome& outcome) {
    if (!outcome) return outcome.error().message.size() + outcome.error().details.size();
    std::size_t bytes = outcome->content.size() + outcome->content_type.size();
    for (const std::string& line : outcome->logs) bytes += sizeof line + line.size();
    return bytes;
}

constexpr std::size_t aligned(std::size_t size) { return (size + kAlign - 1) / kAlign * kAlign; }

}  // namespace

/// What stands before each outcome. `size` 0 marks the unused end of the memory: the next outcome
/// begins at its start.
struct OutcomeRing::Header {
    std::uint64_t high = 0, low = 0;
    SteadyTime until;
    std::chrono::nanoseconds duration{0};
    std::uint32_t size = 0;  ///< of header and texts, aligned
    std::uint32_t first = 0, second = 0;  ///< lengths: content and type, or message and details
    bool ok = false, large = false;
    ContentKind kind = ContentKind::kText;
    ErrorCode code = ErrorCode::kInternal;
    std::int8_t retryable = -1;
    std::int64_t retry_after_ms = -1;
    Usage usage;
};

OutcomeRing::OutcomeRing(std::size_t capacity_bytes, Dropped dropped)
    : capacity_(aligned(std::max(capacity_bytes / 2, 4 * kLargest))),
      dropped_(std::move(dropped)) {}

OutcomeRing::Header OutcomeRing::header_at(std::uint64_t place) const {
    Header header;
    std::memcpy(&header, bytes_.get() + place % capacity_, sizeof header);
    return header;
}

void OutcomeRing::drop_oldest() {
    const std::size_t to_end = capacity_ - tail_ % capacity_;
    if (to_end < sizeof(Header)) {
        tail_ += to_end;
        return;
    }
    const Header header = header_at(tail_);
    if (header.size == 0) {
        tail_ += to_end;
        return;
    }
    if (header.large) {
        const auto it = large_.find(tail_);
        large_bytes_ -= bytes_of(*it->second);
        large_.erase(it);
    }
    tail_ += header.size;
    prefetch(tail_);  // read by the next expire(), and overwritten soon
    dropped_(header.high, header.low);
}

/// Asks for the memory of a header, so that it is there when it is looked at one call later.
void OutcomeRing::prefetch(std::uint64_t place) const {
    constexpr std::size_t kLine = 64;
    const std::size_t at = place % capacity_;
    for (std::size_t ahead = 0; ahead < sizeof(Header); ahead += kLine)
        __builtin_prefetch(bytes_.get() + std::min(at + ahead, capacity_ - 1), 1);
}

std::optional<std::uint64_t> OutcomeRing::next_to_drop() const {
    if (tail_ == head_ || capacity_ - tail_ % capacity_ < sizeof(Header)) return std::nullopt;
    const Header header = header_at(tail_);
    return header.size == 0 ? std::nullopt : std::optional(header.low);
}

void OutcomeRing::expire(SteadyTime now) {
    while (tail_ != head_) {
        const std::size_t to_end = capacity_ - tail_ % capacity_;
        if (to_end >= sizeof(Header)) {
            const Header header = header_at(tail_);
            if (header.size != 0 && header.until > now) return;
        }
        drop_oldest();
    }
}

std::optional<std::uint64_t> OutcomeRing::add(std::uint64_t high, std::uint64_t low,
                                              const Kept& ended, SteadyTime until) {
    const std::shared_ptr<const Outcome>& outcome = ended.outcome;
    const std::size_t bytes = bytes_of(*outcome);
    if (bytes > capacity_) return std::nullopt;
    // left untouched, so that memory is used only as it fills
    if (!bytes_) bytes_.reset(new char[capacity_]);
    Header header{.high = high,
                  .low = low,
                  .until = until,
                  .duration = ended.duration,
                  .size = 0,
                  .first = 0,
                  .second = 0,
                  .ok = outcome->has_value()};
    const std::string* texts[2];
    if (header.ok) {
        texts[0] = &(*outcome)->content;
        texts[1] = &(*outcome)->content_type;
        header.kind = (*outcome)->kind;
        header.usage = (*outcome)->usage;
    } else {
        const Error& error = outcome->error();
        texts[0] = &error.message;
        texts[1] = &error.details;
        header.code = error.code;
        if (error.retryable) header.retryable = *error.retryable ? 1 : 0;
        if (error.retry_after) header.retry_after_ms = error.retry_after->count();
    }
    header.large =
        texts[0]->size() + texts[1]->size() > kLargest || (header.ok && !(*outcome)->logs.empty());
    if (!header.large) {
        header.first = static_cast<std::uint32_t>(texts[0]->size());
        header.second = static_cast<std::uint32_t>(texts[1]->size());
    }
    header.size = static_cast<std::uint32_t>(aligned(sizeof header + header.first + header.second));
    // An outcome never wraps around: what is left at the end is marked unused.
    if (const std::size_t to_end = capacity_ - head_ % capacity_; to_end < header.size) {
        while (head_ + to_end - tail_ > capacity_) drop_oldest();
        if (to_end >= sizeof(Header)) {
            const Header unused;
            std::memcpy(bytes_.get() + head_ % capacity_, &unused, sizeof unused);
        }
        head_ += to_end;
    }
    while (head_ + header.size - tail_ > capacity_) drop_oldest();
    if (header.large) {
        while (tail_ != head_ && large_bytes_ + bytes > capacity_) drop_oldest();
        large_bytes_ += bytes;
        large_.emplace(head_, outcome);
    }
    char* to = bytes_.get() + head_ % capacity_;
    std::memcpy(to, &header, sizeof header);
    if (!header.large) {
        std::memcpy(to + sizeof header, texts[0]->data(), texts[0]->size());
        std::memcpy(to + sizeof header + texts[0]->size(), texts[1]->data(), texts[1]->size());
    }
    const std::uint64_t place = std::exchange(head_, head_ + header.size);
    prefetch(head_);
    return place;
}

OutcomeRing::Kept OutcomeRing::get(std::uint64_t place) const {
    const Header header = header_at(place);
    if (header.large) return {large_.at(place), header.duration};
    const char* texts = bytes_.get() + place % capacity_ + sizeof header;
    std::string first(texts, header.first), second(texts + header.first, header.second);
    if (header.ok) {
        ToolResult result{.kind = header.kind,
                          .content = std::move(first),
                          .content_type = std::move(second),
                          .logs = {},
                          .usage = header.usage};
        return {std::make_shared<const Outcome>(std::move(result)), header.duration};
    }
    Error error{.code = header.code,
                .message = std::move(first),
                .details = std::move(second),
                .retryable = {},
                .retry_after = {}};
    if (header.retryable >= 0) error.retryable = header.retryable == 1;
    if (header.retry_after_ms >= 0) error.retry_after = Milliseconds(header.retry_after_ms);
    return {std::make_shared<const Outcome>(fail(std::move(error))), header.duration};
}

}  // namespace crab::core

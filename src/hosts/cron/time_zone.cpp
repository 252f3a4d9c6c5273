#include "hosts/cron/time_zone.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace crab::cron {

using std::chrono::seconds;
using std::chrono::sys_seconds;

namespace {

/// Big-endian numbers from the front of a text; too short a text makes zeros and is remembered.
class ByteReader {
public:
    explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

    std::string_view take(std::uint64_t count) {
        if (count > rest_.size()) {
            short_ = true;
            rest_ = {};
            return {};
        }
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    /// `size` bytes, two's complement.
    std::int64_t number(std::size_t size) {
        const std::string_view bytes = take(size);
        if (bytes.empty()) return 0;
        std::uint64_t value = (bytes.front() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
        for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
        return static_cast<std::int64_t>(value);
    }
    std::uint32_t count() { return static_cast<std::uint32_t>(number(4)); }
    std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
    bool ran_short() const { return short_; }
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
    bool short_ = false;
};

std::unexpected<Error> refuse(std::string_view why) {
    return fail(ErrorCode::kInvalidArgs, "not a usable time zone file: " + std::string(why));
}

}  // namespace

/// The blocks of a file, RFC 8536, sections 3.1 to 3.3. Designations and the indicators are not
/// needed and not looked at.
class TzifReader {
public:
    explicit TzifReader(std::string_view bytes) : bytes_(bytes) {}

    Result<TimeZone> read() {
        if (!read_header()) return refuse("no TZif header");
        const char version = header_.version;
        if (version == '\0') return read_block(4);
        if (version < '2') return refuse("an unknown version");
        bytes_.take(block_size(4));
        if (!read_header()) return refuse("no second header");
        auto zone = read_block(8);
        if (zone && !read_footer(*zone)) return refuse("a malformed footer");
        return zone;
    }

private:
    struct Header {
        char version = '\0';
        std::uint32_t utc_indicators = 0, standard_indicators = 0, leap_seconds = 0, changes = 0,
                      types = 0, designations = 0;
    };

    bool read_header() {
        if (bytes_.take(4) != "TZif") return false;
        header_.version = static_cast<char>(bytes_.byte());
        bytes_.take(15);
        for (std::uint32_t* count :
             {&header_.utc_indicators, &header_.standard_indicators, &header_.leap_seconds,
              &header_.changes, &header_.types, &header_.designations}) {
            *count = bytes_.count();
        }
        return !bytes_.ran_short();
    }
    std::uint64_t block_size(std::uint64_t time_size) const {
        return header_.changes * (time_size + 1) + header_.types * std::uint64_t{6} +
               header_.designations + header_.leap_seconds * (time_size + 4) +
               header_.standard_indicators + header_.utc_indicators;
    }

    Result<TimeZone> read_block(std::size_t time_size) {
        ByteReader block(bytes_.take(block_size(time_size)));
        if (bytes_.ran_short()) return refuse("it ends too early");
        if (header_.leap_seconds != 0) return refuse("it counts leap seconds");
        if (header_.types == 0 || header_.types > 256)
            return refuse("1 to 256 types of local time are needed");
        TimeZone zone;
        for (std::uint32_t i = 0; i < header_.changes; ++i) {
            const sys_seconds when{seconds(block.number(time_size))};
            if (i > 0 && when <= zone.changes_.back())
                return refuse("its changes are not in order");
            zone.changes_.push_back(when);
        }
        ByteReader types_of_changes(block.take(header_.changes));
        std::array<seconds, 256> offsets{};
        for (std::uint32_t i = 0; i < header_.types; ++i) {
            offsets[i] = seconds(block.number(4));
            block.take(2);
            if (offsets[i] < std::chrono::hours(-25) || offsets[i] > std::chrono::hours(26))
                return refuse("an offset beyond a day");
        }
        zone.offsets_ = {offsets[0]};
        for (std::uint32_t i = 0; i < header_.changes; ++i) {
            const std::uint8_t type = types_of_changes.byte();
            if (type >= header_.types) return refuse("a change to an unknown type");
            zone.offsets_.push_back(offsets[type]);
        }
        return zone;
    }
    bool read_footer(TimeZone& zone) {
        std::string_view footer = bytes_.rest();
        if (footer.size() < 2 || footer.front() != '\n') return false;
        footer = footer.substr(1, footer.find('\n', 1) - 1);
        if (footer.size() + 2 > bytes_.rest().size()) return false;
        if (footer.empty()) return true;
        zone.afterwards_ = PosixTimeZone::parse(footer);
        return zone.afterwards_.has_value();
    }

    ByteReader bytes_;
    Header header_;
};

Result<TimeZone> TimeZone::parse(std::string_view bytes) {
    if (bytes.size() > kMostBytes) return refuse("it is too large");
    return TzifReader(bytes).read();
}

ZoneSpan TimeZone::span_at(sys_seconds time) const {
    const auto next = std::ranges::upper_bound(changes_, time);
    const auto index = static_cast<std::size_t>(next - changes_.begin());
    ZoneSpan span{
        .begin = sys_seconds::min(), .end = sys_seconds::max(), .offset = offsets_[index]};
    if (index > 0) span.begin = changes_[index - 1];
    if (next != changes_.end()) {
        span.end = *next;
    } else if (afterwards_) {
        const ZoneSpan ruled = afterwards_->span_at(time);
        span = {
            .begin = std::max(span.begin, ruled.begin), .end = ruled.end, .offset = ruled.offset};
    }
    return span;
}

}  // namespace crab::cron

#include "hosts/memory/page_cursor.hpp"

#include "base/encoding.hpp"

#include <span>

namespace crab::memory {
namespace {

constexpr std::size_t kHeadBytes = 16;   // when it was made, and the digest
constexpr std::string_view kStartAgain = "ask again without it for the first page";

void put(std::string& bytes, std::uint64_t number) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
}

std::uint64_t take(std::string_view bytes) {
    std::uint64_t number = 0;
    for (const char byte : bytes.substr(0, 8))
        number = number << 8 | static_cast<unsigned char>(byte);
    return number;
}

/// FNV-1a: the same in every process, so that a cursor outlives a restart.
class Digest {
public:
    Digest& add(std::string_view text) {
        add(text.size());
        for (const char c : text) add_byte(static_cast<unsigned char>(c));
        return *this;
    }
    Digest& add(std::uint64_t number) {
        for (int shift = 0; shift < 64; shift += 8)
            add_byte(static_cast<unsigned char>(number >> shift & 0xff));
        return *this;
    }
    Digest& add(const std::optional<SystemTime>& time) {
        return add(time ? static_cast<std::uint64_t>(to_unix_ms(*time)) + 1 : 0);
    }
    std::uint64_t value() const { return value_; }

private:
    void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100'0000'01b3ULL; }
    std::uint64_t value_ = 0xcbf2'9ce4'8422'2325ULL;
};

std::uint64_t digest_of(const MemoryScope& scope, const MemoryQuery& query) {
    Digest digest;
    digest.add(scope.tenant.text())
        .add(scope.agent_id)
        .add(scope.isolation_key)
        .add(query.terms.size());
    for (const QueryTerm& term : query.terms)
        digest.add(term.text)
            .add(static_cast<std::uint64_t>(term.kind))
            .add(std::uint64_t{term.excluded});
    digest.add(query.tags)
        .add(query.since)
        .add(query.until)
        .add(static_cast<std::uint64_t>(query.order));
    return digest.value();
}

}  // namespace

std::string to_cursor(std::string_view next, const MemoryScope& scope, const MemoryQuery& query,
                      SystemTime now) {
    std::string bytes;
    put(bytes, static_cast<std::uint64_t>(to_unix_ms(now)));
    put(bytes, digest_of(scope, query));
    bytes += next;
    return to_base64(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

Result<std::string> read_cursor(std::string_view cursor, const MemoryScope& scope,
                                const MemoryQuery& query, SystemTime now) {
    const auto bytes = from_base64(cursor);
    if (!bytes || bytes->size() <= kHeadBytes)
        return fail(ErrorCode::kInvalidArgs,
                    std::string("/cursor: not a cursor of this tool; ").append(kStartAgain));
    const std::string_view view(*bytes);
    if (take(view.substr(8)) != digest_of(scope, query)) {
        return fail(
            ErrorCode::kInvalidArgs,
            std::string("/cursor: it belongs to another query or scope; ").append(kStartAgain));
    }
    // a time to come wraps around and is too old as well
    const auto age = static_cast<std::uint64_t>(to_unix_ms(now)) - take(view);
    if (age > static_cast<std::uint64_t>(Milliseconds(kCursorLife).count())) {
        return fail(ErrorCode::kInvalidArgs,
                    std::string("/cursor: older than an hour; ").append(kStartAgain));
    }
    return bytes->substr(kHeadBytes);
}

}  // namespace crab::memory

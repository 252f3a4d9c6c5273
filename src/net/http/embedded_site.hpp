#pragma once

#include "net/http/http_exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace crab::net {

/// A file that is part of the program.
struct EmbeddedFile {
    enum class Caching : std::uint8_t {
        kAskEachTime,  ///< kept, and used after the gateway has said that it is still the one
        kForever,      ///< its name changes with its content
    };
    std::string_view path;  ///< below the root of its site, such as `assets/app-1a2b.js`
    std::string_view content_type;
    std::string_view etag;  ///< strong, with its quotes (RFC 9110, section 8.8.3)
    Caching caching = Caching::kAskEachTime;
    std::string_view content;
    std::size_t unpacked_size = 0;  ///< where `content` is packed by gzip, else 0
};

/// Serves files of the program by name. Thread-safe: nothing in it changes.
class EmbeddedSite {
public:
    explicit EmbeddedSite(std::span<const EmbeddedFile> files) : files_(files) {}

    /// Answers a GET or HEAD for the file of that name: 200, or 304 when `If-None-Match` names it.
    /// What is packed is sent so to those that accept it, and unpacked for others. `headers` go
    /// with every 200 and 304. False, and no answer, when there is no such file.
    bool serve(HttpExchange& exchange, std::string_view path,
               std::span<const HttpHeader> headers) const;

private:
    std::span<const EmbeddedFile> files_;
};

/// Whether an `Accept-Encoding` field names gzip, and not with `q=0` (RFC 9110, section 12.5.3).
bool accepts_packed(std::string_view accept_encoding);

/// Whether an `If-None-Match` field names `etag`, in the weak comparison of RFC 9110,
/// section 13.1.2.
bool names_etag(std::string_view if_none_match, std::string_view etag);

}  // namespace crab::net

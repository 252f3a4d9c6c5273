#pragma once

#include "base/result.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

/// What a source of tools said of one of its entries when that was accepted.
struct Pin {
    std::string source;
    /// `tool`, `resource`, `template`, `prompt`, `instructions`, `name`, `origin`
    std::string kind;
    std::string key;     ///< the source's own name or URI of it; empty where there is but one
    std::string digest;  ///< SHA-256 of `text`, in hex
    std::string text;    ///< for showing what has changed; empty when it was too long to keep
    friend bool operator==(const Pin&, const Pin&) = default;
};

/// Store of the pins. Every function may block and is atomic. Thread-safe. Errors: kUnavailable
/// (disk full, busy, I/O), kInternal.
class PinStore {
public:
    virtual ~PinStore() = default;
    virtual Result<std::vector<Pin>> load(std::string_view source) = 0;
    /// Adds these, or puts them in the place of those of the same source, kind and key.
    virtual Result<void> put(std::span<const Pin> pins) = 0;
    /// Drops all of a source.
    virtual Result<void> forget(std::string_view source) = 0;
};

}  // namespace crab::trust

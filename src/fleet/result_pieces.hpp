#pragma once

#include "base/result.hpp"
#include "fleet/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab::fleet {

// A RESULT that is longer than a message goes in pieces, some ahead of what home has.
// Source: docs/protocols/fleet.md, sections 4 ("Sizes") and 5.

inline constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
inline constexpr std::size_t kAhead = std::size_t{1} << 20;
/// A longer end is told as kOversize
inline constexpr std::size_t kMostResult = std::size_t{20} << 20;

/// In the envelope's flags of a RESULT: its body is a piece.
inline constexpr std::uint8_t kIsPiece = 1;
struct Piece {
    ForwardId id;
    std::uint64_t from = 0, whole = 0;  ///< of the body of the RESULT
    std::string_view bytes;
};
std::string to_wire(const Piece& piece);
Result<Piece> parse_piece(std::string_view body);

/// CREDIT, home to owner: so much of the result is here.
struct Credit {
    ForwardId id;
    std::uint64_t have = 0;
};
std::string to_wire(const Credit& credit);
Result<Credit> parse_credit(std::string_view body);

/// The owner's side: what of a result is to be sent now.
class PiecesOut {
public:
    /// The next piece of `body` that may be sent; nothing: first home has to say what it has.
    std::optional<Piece> next(ForwardId id, std::string_view body);
    /// False: nothing new.
    bool hear(std::uint64_t have);
    /// What was not heard of is sent again.
    void repeat() { sent_ = have_; }

private:
    std::uint64_t have_ = 0, sent_ = 0;
};

/// Home's side: puts the result together, in order.
class PiecesIn {
public:
    enum class Taken : std::uint8_t { kNothing, kMore, kAll };
    /// kNothing: not the next one.
    Taken take(const Piece& piece);
    std::uint64_t have() const { return body_.size(); }
    std::string take_all() { return std::exchange(body_, {}); }

private:
    std::string body_;
};

}  // namespace crab::fleet

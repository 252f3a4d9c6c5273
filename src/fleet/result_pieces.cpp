#include "fleet/result_pieces.hpp"

#include "fleet/message_body.hpp"

#include <algorithm>

namespace crab::fleet {
namespace {

using bus::FieldReader;
using bus::FieldWriter;

// The numbers of fields are the wire's.
constexpr std::uint8_t kFrom = 110, kWhole = 111, kBytes = 112, kHave = 113;

}  // namespace

std::string to_wire(const Piece& piece) {
    FieldWriter body;
    add_id(body, piece.id);
    body.add_number(kFrom, piece.from);
    body.add_number(kWhole, piece.whole);
    body.add(kBytes, piece.bytes);
    return body.take();
}

Result<Piece> parse_piece(std::string_view body) {
    Piece piece;
    const auto id = read_with_id(body, [&](const FieldReader::Field& field) {
        if (field.number == kFrom) piece.from = field.value();
        if (field.number == kWhole) piece.whole = field.value();
        if (field.number == kBytes) piece.bytes = field.bytes;
    });
    if (!id || piece.bytes.empty() || piece.whole > kMostResult ||
        piece.bytes.size() > piece.whole || piece.from > piece.whole - piece.bytes.size())
        return unreadable("the message is no piece of a result");
    piece.id = *id;
    return piece;
}

std::string to_wire(const Credit& credit) {
    FieldWriter body;
    add_id(body, credit.id);
    body.add_number(kHave, credit.have);
    return body.take();
}

Result<Credit> parse_credit(std::string_view body) {
    Credit credit;
    const auto id = read_with_id(body, [&](const FieldReader::Field& field) {
        if (field.number == kHave) credit.have = field.value();
    });
    if (!id) return unreadable("the message has no id");
    credit.id = *id;
    return credit;
}

std::optional<Piece> PiecesOut::next(ForwardId id, std::string_view body) {
    if (sent_ >= body.size() || sent_ >= have_ + kAhead) return std::nullopt;
    const std::string_view bytes = body.substr(sent_, kPieceBytes);
    const Piece piece{.id = id, .from = sent_, .whole = body.size(), .bytes = bytes};
    sent_ += bytes.size();
    return piece;
}

bool PiecesOut::hear(std::uint64_t have) {
    if (have <= have_ || have > sent_) return false;
    have_ = have;
    return true;
}

PiecesIn::Taken PiecesIn::take(const Piece& piece) {
    if (piece.from != body_.size()) return Taken::kNothing;
    body_ += piece.bytes;
    return body_.size() == piece.whole ? Taken::kAll : Taken::kMore;
}

}  // namespace crab::fleet

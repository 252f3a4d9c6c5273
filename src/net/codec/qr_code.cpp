#include "net/codec/qr_code.hpp"

#include <qrencode.h>

#include <memory>
#include <new>

namespace crab::net {
namespace {

constexpr int kQuietZone = 4;  // ISO/IEC 18004, clause 6.3.8

struct FreeCode {
    void operator()(QRcode* code) const { QRcode_free(code); }
};

}  // namespace

std::optional<QrCode> QrCode::encode(std::string_view text) {
    if (text.empty() || text.size() > kMostBytes) return std::nullopt;
    constexpr int kSmallest = 0;
    const std::unique_ptr<QRcode, FreeCode> code(QRcode_encodeData(
        static_cast<int>(text.size()), reinterpret_cast<const unsigned char*>(text.data()),
        kSmallest, QR_ECLEVEL_M));
    if (!code) throw std::bad_alloc();  // the one failure that is left for a text of this length
    std::vector<bool> modules;
    const int count = code->width * code->width;
    for (int i = 0; i < count; ++i) modules.push_back((code->data[i] & 1) != 0);
    return QrCode(code->width, std::move(modules));
}

std::vector<std::string> QrCode::to_rows() const {
    std::vector<std::string> rows;
    for (int row = 0; row < size_; ++row) {
        std::string& text = rows.emplace_back();
        for (int column = 0; column < size_; ++column) text += is_dark(row, column) ? '1' : '0';
    }
    return rows;
}

std::string QrCode::to_half_blocks() const {
    const auto is_light = [this](int row, int column) {
        return row < 0 || column < 0 || row >= size_ || column >= size_ || !is_dark(row, column);
    };
    std::string text;
    for (int row = -kQuietZone; row < size_ + kQuietZone; row += 2) {
        for (int column = -kQuietZone; column < size_ + kQuietZone; ++column) {
            const bool upper = is_light(row, column), lower = is_light(row + 1, column);
            text += upper && lower ? "█" : upper ? "▀" : lower ? "▄" : " ";
        }
        text += '\n';
    }
    return text;
}

}  // namespace crab::net

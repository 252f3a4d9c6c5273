#include "fleet/call_news.hpp"

#include "fleet/message_body.hpp"

#include <bit>
#include <cmath>
#include <utility>

namespace crab::fleet {
namespace {

using bus::FieldReader;
using bus::FieldWriter;

// The numbers of fields are the wire's.
constexpr std::uint8_t kNumber = 114, kIsLog = 115, kText = 116, kDone = 117, kTotal = 118,
                       kLevel = 119, kLogger = 120, kData = 121;
/// Longer ones are left out: they are news, not results.
constexpr std::size_t kMostText = std::size_t{64} << 10;

/// A NaN, which is no progress, stands for none, and keeps 0 apart from it.
void add_double(FieldWriter& body, std::uint8_t number, std::optional<double> value) {
    if (value) body.add_number(number, ~std::bit_cast<std::uint64_t>(*value));
}
std::optional<double> double_of(std::uint64_t bits) {
    const double value = std::bit_cast<double>(~bits);
    if (!std::isfinite(value)) return std::nullopt;
    return value;
}

}  // namespace

std::string to_wire(const News& news) {
    FieldWriter body;
    add_id(body, news.id);
    body.add_number(kNumber, news.number);
    body.add_flag(kIsLog, news.is_log);
    body.add(kText, news.progress.message);
    add_double(body, kDone, news.progress.progress);
    add_double(body, kTotal, news.progress.total);
    body.add(kLevel, news.level);
    body.add(kLogger, news.logger);
    body.add(kData, news.data);
    return body.take();
}

Result<News> parse_news(std::string_view body) {
    News news;
    const auto id = read_with_id(body, [&](const FieldReader::Field& field) {
        switch (field.number) {
            case kNumber: news.number = field.value(); break;
            case kIsLog: news.is_log = field.flag(); break;
            case kText: news.progress.message = field.bytes; break;
            case kDone: news.progress.progress = double_of(field.value()); break;
            case kTotal: news.progress.total = double_of(field.value()); break;
            case kLevel: news.level = field.bytes; break;
            case kLogger: news.logger = field.bytes; break;
            case kData: news.data = field.bytes; break;
            default: break;
        }
    });
    if (!id || news.number == 0) return unreadable("the news are of no call");
    news.id = *id;
    return news;
}

void NewsSink::on_progress(const core::Progress& progress) {
    if (!wanted_.progress || progress.message.size() > kMostText) return;
    send({.progress = progress});
}

void NewsSink::on_log(const Log& log) {
    if (wanted_.log_level.empty() || log.data.size() > kMostText) return;
    send({.is_log = true,
          .progress = {},
          .level = log.level,
          .logger = log.logger,
          .data = log.data});
}

void NewsSink::send(News news) {
    const SteadyTime now = clock_.steady_now();
    if (now - second_ >= std::chrono::seconds(1)) {
        second_ = now;
        in_second_ = 0;
    }
    if (++in_second_ > kMostInASecond) return;
    news.id = id_;
    news.number = ++number_;
    send_(to_wire(news));
}

}  // namespace crab::fleet

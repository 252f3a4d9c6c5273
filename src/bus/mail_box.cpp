#include "bus/mail_box.hpp"

namespace crab::bus {

Envelope MailBox::next(const Letter& letter, const Place& to) {
    return {.kind = letter.kind,
            .flags = letter.flags,
            .key = 0,
            .from = self_,
            .to = to,
            .part = 0,
            .sequence = ++sequence_,
            .tag = letter.tag,
            .ms_left = letter.ms_left};
}

Result<MailBox::Sent> MailBox::send(const Place& to, const Letter& letter, std::string_view body) {
    if (body.size() > kMostBody)
        return fail(ErrorCode::kOversize, "the message is longer than the bus carries");
    const auto receipt = bus_->send(to, keys_.seal(next(letter, to), body));
    if (!receipt) return fail(receipt.error());
    return Sent{.receipt = *receipt, .sequence = sequence_};
}

Result<void> MailBox::publish(Topic topic, const Letter& letter, std::string_view body) {
    if (body.size() > kMostBody)
        return fail(ErrorCode::kOversize, "the message is longer than the bus carries");
    return bus_->publish(topic, keys_.seal(next(letter, Place{}), body));
}

void MailBox::retire(Process process) {
    retired_.insert(process);
    std::erase_if(windows_, [&](const auto& one) { return process_of(one.first) == process; });
}

// The code first: what follows looks only at what a node of this fleet has written.
void MailBox::on_message(std::string_view message) {
    const auto letter = keys_.check(message);
    if (!letter) return counts_.forged.add();
    const auto opened = parse_envelope(*letter);
    if (!opened) return counts_.malformed.add();
    const Envelope& envelope = opened->envelope;
    if (!is_for_me(envelope)) return counts_.misdirected.add();
    if (!is_new(envelope)) return;
    counts_.taken.add();
    reader_->on_letter(envelope, opened->body);
}

bool MailBox::is_for_me(const Envelope& envelope) const {
    if (envelope.from == self_) return false;
    return envelope.is_broadcast() || envelope.to == self_;
}

bool MailBox::is_new(const Envelope& envelope) {
    const auto refuse = [](Counter& why) {
        why.add();
        return false;
    };
    if (retired_.contains(process_of(envelope.from))) return refuse(counts_.misdirected);
    auto window = windows_.find(envelope.from);
    if (window == windows_.end()) {
        // A window that is dropped would let everything in again, so none is.
        if (windows_.size() == kMostSenders) return refuse(counts_.unknown_senders);
        window = windows_.emplace(envelope.from, ReplayWindow()).first;
    }
    return window->second.take(envelope.sequence) || refuse(counts_.replayed);
}

}  // namespace crab::bus

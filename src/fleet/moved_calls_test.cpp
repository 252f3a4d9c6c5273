#include "fleet/moved_calls.hpp"

#include "base/task/test_loop.hpp"
#include "bus/local/local_network.hpp"
#include "fleet/messages.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace crab::fleet {
namespace {

using namespace std::chrono_literals;

const DeviceProcess kKettle{.principal = "device/kettle", .chat = "c-1", .instance = "i-1"};

/// The calls that wait at a node: all of one device process.
struct FakeWaiting final : MovedCalls::Waiting {
    std::vector<Out> unanswered(const DeviceProcess& device) override {
        return device == kKettle ? out : std::vector<Out>{};
    }
    bool waits(const DeviceProcess&, std::string_view id) override {
        return std::ranges::any_of(out, [&](const Out& one) { return one.request.id == id; });
    }
    void set_held(const DeviceProcess&, std::string_view, bool is) override { held = is; }
    void answer(const DeviceProcess& device, std::string_view id, std::optional<std::string> frame,
                std::function<void()> its_kept) override {
        EXPECT_EQ(device, kKettle);
        answers.push_back(frame.value_or("too long"));
        std::erase_if(out, [&](const Out& one) { return one.request.id == id; });
        kept = std::move(its_kept);
        if (records) kept();
    }
    std::vector<Out> out;
    void progress(const DeviceProcess&, std::string_view, const std::string& frame) override {
        news.push_back(frame);
    }
    std::vector<std::string> news;
    bool records = true;  ///< what is answered, at once
    std::function<void()> kept;
    std::optional<bool> held;
    std::vector<std::string> answers;
};

/// One link at a node, of connection 7.
struct FakeLinks final : MovedCalls::Links {
    explicit FakeLinks(MovedCalls& its) : moved(its) {}
    void on_resume(const bus::Place& from, std::uint8_t flags, Resume resume,
                   Deadline until) override {
        asker = from;
        deadline = until;
        if ((flags & kHaveAnswer) != 0) return heard.push_back(resume.request.id);
        if ((flags & kGivenUp) != 0) return given_up.push_back(resume.request.id);
        const bool is_here = linked && resume.connection == 7 && resume.device == kKettle;
        if (is_here && (flags & kAskedBefore) == 0) asked.push_back(resume.request);
        say(is_here ? Reply::Says::kLinked : Reply::Says::kGone, resume.request.id, {},
            resume.connection);
    }
    void say(Reply::Says what, std::string id, std::string frame = {}, std::uint64_t link = 7) {
        if (mute) return;
        moved.tell(
            asker,
            {.id = std::move(id), .connection = link, .says = what, .frame = std::move(frame)});
    }
    MovedCalls& moved;
    bool linked = true, mute = false;
    bus::Place asker;
    Deadline deadline = kNoDeadline;
    std::vector<DeviceRequest> asked;
    std::vector<std::string> heard, given_up;
};

struct Node final : bus::MailBox::Reader {
    Node(TestLoop& loop, const bus::FleetKeys& keys, bus::local::LocalNetwork& network,
         const bus::Place& place)
        : mail(keys, place),
          beats(loop.clock, place.boot),
          moved({.mail = mail, .beats = beats, .clock = loop.clock, .timers = loop.timers}),
          links(moved),
          bus(network.connect(place, mail)) {
        mail.open(*bus, *this);
        moved.open(waiting, links);
    }
    void on_letter(const bus::Envelope& envelope, std::string_view body) override {
        ++letters;
        if (envelope.kind == bus::Kind::kBeat)
            beats.hear(process_of(envelope.from), parse_beat(body)->number);
        if (envelope.kind == bus::Kind::kMoved) moved.on_moved(envelope, body);
        if (envelope.kind == bus::Kind::kResume) moved.on_resume(envelope, body);
        if (envelope.kind == bus::Kind::kReply) moved.on_reply(envelope, body);
    }
    void on_nobody(bus::Receipt) override {}
    void say_beat() {
        (void)mail.publish(bus::Topic::kAll, {.kind = bus::Kind::kBeat},
                           to_wire(Beat{beats.next()}));
    }
    bus::MailBox mail;
    Beats beats;
    MovedCalls moved;
    FakeWaiting waiting;
    FakeLinks links;
    std::unique_ptr<bus::Bus> bus;
    int letters = 0;
};

/// Calls wait at `b`; the device has come back at `c`; `d` is a third node.
struct MovedCallsTest : testing::Test {
    TestLoop loop;
    const bus::FleetKeys keys = bus::FleetKeys::parse(std::string(64, '7'), "f").value();
    bus::local::LocalNetwork network{loop.clock, 1};
    Node b{loop, keys, network, {.node = 2, .loop = 0, .boot = 22}};
    Node c{loop, keys, network, {.node = 3, .loop = 0, .boot = 33}};
    Node d{loop, keys, network, {.node = 4, .loop = 0, .boot = 44}};

    MovedCallsTest() {
        b.waiting.out.push_back({.request = {.id = "r-1", .tool = "boil", .args = "{}"},
                                 .deadline = loop.clock.steady_now() + 60s,
                                 .right = {}});
        pass(3s);
    }
    void pass(std::chrono::milliseconds time) {
        for (; time > 0ms; time -= 5ms) {
            if (until_beat_-- == 0) {
                for (Node* node : {&b, &c, &d}) node->say_beat();
                until_beat_ = 400;
            }
            loop.advance(5ms);
            while (network.deliver_one()) loop.settle();
        }
    }
    void comes_back_at(Node& node, std::uint64_t connection = 7) {
        node.moved.announce({.device = kKettle, .connection = connection});
        pass(100ms);
    }

private:
    int until_beat_ = 0;
};

TEST_F(MovedCallsTest, WhatWaitsElsewhereIsAskedWhereTheDeviceIsAndItsAnswerComesBack) {
    comes_back_at(c);
    ASSERT_EQ(c.links.asked.size(), 1u);
    EXPECT_EQ(c.links.asked[0].tool, "boil");
    EXPECT_EQ(c.links.asked[0].args, "{}");
    EXPECT_NE(c.links.deadline, kNoDeadline);
    EXPECT_EQ(b.waiting.held, true);
    EXPECT_TRUE(d.links.asked.empty());
    c.links.say(Reply::Says::kAnswer, "r-1", "boiled");
    pass(100ms);
    EXPECT_EQ(b.waiting.answers, std::vector<std::string>{"boiled"});
    EXPECT_EQ(c.links.heard, std::vector<std::string>{"r-1"});
    EXPECT_EQ(b.moved.asked(), 0u);
    // The device has not heard that, and answers again.
    c.links.say(Reply::Says::kAnswer, "r-1", "boiled");
    pass(20s);
    EXPECT_EQ(b.waiting.answers.size(), 1u);
    EXPECT_EQ(c.links.heard.size(), 2u);
    EXPECT_EQ(c.links.asked.size(), 1u);
}

TEST_F(MovedCallsTest, ProgressOfALinkThatWasAskedIsToldAndOfAnotherNot) {
    comes_back_at(c);
    d.links.asker = b.mail.self();
    d.links.say(Reply::Says::kProgress, "r-1", "forged");
    c.links.say(Reply::Says::kProgress, "r-1", "half");
    pass(100ms);
    EXPECT_EQ(b.waiting.news, std::vector<std::string>{"half"});
    EXPECT_TRUE(b.waiting.answers.empty());
}

TEST_F(MovedCallsTest, WhatIsGivenUpIsCancelledWhereTheDeviceIs) {
    comes_back_at(c);
    b.waiting.out.clear();
    pass(3s);
    EXPECT_EQ(c.links.given_up, std::vector<std::string>{"r-1"});
    EXPECT_TRUE(d.links.given_up.empty());
    EXPECT_EQ(b.moved.asked(), 0u);
}

TEST_F(MovedCallsTest, TheDeviceKeepsItsAnswerUntilItIsRecorded) {
    b.waiting.records = false;
    comes_back_at(c);
    c.links.say(Reply::Says::kAnswer, "r-1", "boiled");
    pass(1s);
    EXPECT_EQ(b.waiting.answers, std::vector<std::string>{"boiled"});
    c.links.say(Reply::Says::kAnswer, "r-1", "boiled");
    pass(1s);
    EXPECT_TRUE(c.links.heard.empty()) << "whoever adopts the call has to ask for it";
    b.waiting.kept();
    pass(1s);
    EXPECT_EQ(c.links.heard, std::vector<std::string>{"r-1"});
    c.links.say(Reply::Says::kAnswer, "r-1", "boiled");
    pass(1s);
    EXPECT_EQ(c.links.heard.size(), 2u) << "as if it had not heard that";
}

TEST_F(MovedCallsTest, WhateverIsLostAndDoubledItIsAskedOnceAndAnsweredOnce) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        network.set_faults({.lost = 300, .doubled = 300, .late = 100, .most_late = 900ms});
        const std::string id = "r-1" + std::to_string(seed);
        b.waiting.out = {
            {.request = {.id = id, .tool = "boil"}, .deadline = kNoDeadline, .right = {}}};
        b.waiting.answers.clear();
        c.links.asked.clear();
        c.links.heard.clear();
        comes_back_at(c);
        for (int i = 0; i < 60 && c.links.asked.empty(); ++i) pass(500ms);
        ASSERT_FALSE(c.links.asked.empty()) << seed;
        // Without an acknowledgement the device says it again.
        for (int i = 0; i < 60 && c.links.heard.empty(); ++i) {
            c.links.say(Reply::Says::kAnswer, id, "boiled");
            pass(1s);
        }
        EXPECT_FALSE(c.links.heard.empty()) << seed;
        EXPECT_EQ(b.waiting.answers, std::vector<std::string>{"boiled"}) << seed;
        network.set_faults({});
        pass(3s);
    }
}

TEST_F(MovedCallsTest, ALinkThatHasItHoldsTheCallAndOneThatEndsLetsGo) {
    comes_back_at(c);
    pass(30s);
    EXPECT_EQ(b.waiting.held, true);
    EXPECT_EQ(c.links.asked.size(), 1u);
    c.links.linked = false;
    pass(2s);
    EXPECT_EQ(b.waiting.held, false);
    EXPECT_EQ(b.moved.asked(), 0u);
    // And on to a third node.
    comes_back_at(d);
    EXPECT_EQ(b.waiting.held, true);
    d.links.say(Reply::Says::kAnswer, "r-1", "boiled");
    pass(100ms);
    EXPECT_EQ(b.waiting.answers, std::vector<std::string>{"boiled"});
}

TEST_F(MovedCallsTest, ANodeThatSaysNothingIsWaitedForSoLong) {
    comes_back_at(c);
    c.links.mute = true;
    pass(MovedCalls::kSilent - 1s);
    EXPECT_EQ(b.waiting.held, true);
    pass(3s);
    EXPECT_EQ(b.waiting.held, false);
    EXPECT_EQ(b.moved.asked(), 0u);
    EXPECT_EQ(b.moved.counts().lost.value(), 1u);
}

TEST_F(MovedCallsTest, OnlyALinkThatWasAskedAnswers) {
    comes_back_at(c);
    d.links.asker = b.mail.self();
    d.links.say(Reply::Says::kAnswer, "r-1", "forged");
    c.links.say(Reply::Says::kAnswer, "r-1", "of another link", 8);
    c.links.say(Reply::Says::kGone, "r-1", {}, 8);
    pass(100ms);
    EXPECT_TRUE(b.waiting.answers.empty());
    EXPECT_EQ(b.waiting.held, true);
    EXPECT_EQ(b.moved.counts().foreign.value(), 3u);
    EXPECT_EQ(b.moved.asked(), 1u);
}

TEST_F(MovedCallsTest, AnotherDeviceProcessGetsNothing) {
    for (auto part : {&DeviceProcess::principal, &DeviceProcess::chat, &DeviceProcess::instance}) {
        DeviceProcess other = kKettle;
        other.*part = "another";
        c.moved.announce({.device = other, .connection = 7});
    }
    pass(10s);
    EXPECT_TRUE(c.links.asked.empty());
    EXPECT_EQ(b.moved.asked(), 0u);
}

TEST_F(MovedCallsTest, WhoeverSaysThatADeviceIsWhereItIsNotIsToldThatItIsGone) {
    comes_back_at(d, 9);  // a link that is not there
    EXPECT_TRUE(d.links.asked.empty());
    EXPECT_NE(b.waiting.held, true);
    EXPECT_EQ(b.moved.asked(), 0u);
}

TEST_F(MovedCallsTest, WhatComesLateIsNotAsked) {
    network.pause(3);
    const Resume late{.device = kKettle,
                      .connection = 7,
                      .beat = *b.beats.newest_of({.node = 3, .boot = 33}),
                      .request = {.id = "r-1", .tool = "boil"}};
    ASSERT_TRUE(b.mail.send(c.mail.self(), {.kind = bus::Kind::kResume}, to_wire(late)));
    pass(20s);
    network.resume(3);
    pass(1s);
    EXPECT_TRUE(c.links.asked.empty());
    EXPECT_EQ(c.moved.counts().stale.value(), 1u);
}

TEST_F(MovedCallsTest, AnAnswerThatNoMessageTakesIsToldAsTooLong) {
    comes_back_at(c);
    c.links.say(Reply::Says::kAnswer, "r-1", std::string(bus::kMostBody, 'x'));
    pass(100ms);
    EXPECT_EQ(b.waiting.answers, std::vector<std::string>{"too long"});
}

TEST_F(MovedCallsTest, WhatWaitsNoMoreIsNotAskedForAnyMore) {
    comes_back_at(c);
    b.waiting.out.clear();
    pass(2s);
    EXPECT_EQ(b.moved.asked(), 0u);
    pass(8s);  // the last MOVED has been said
    const int before = c.letters;
    pass(1s);
    EXPECT_LE(c.letters - before, 2);  // beats
}

TEST_F(MovedCallsTest, LinksOfOneDeviceAreBoundedAndSoAreCalls) {
    for (std::uint64_t link = 1; link <= 100; ++link)
        d.moved.announce({.device = kKettle, .connection = link});
    c.links.mute = d.links.mute = true;
    pass(300ms);
    const int before = d.letters;
    pass(1s);
    // At most those are asked again, each time.
    EXPECT_LE(d.letters - before, static_cast<int>(2 * MovedCalls::kMostLinks + 102));
    EXPECT_EQ(b.moved.asked(), 1u);
}

TEST(MovedMessagesTest, WhatIsWrittenIsRead) {
    const Resume resume{.device = kKettle,
                        .connection = 7,
                        .beat = 9,
                        .request = {.id = "r",
                                    .tool = "boil",
                                    .args = "{}",
                                    .caller = "ann",
                                    .agent = "planner",
                                    .traceparent = "00-1"}};
    const auto read = parse_resume(to_wire(resume));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->device, kKettle);
    EXPECT_EQ(read->connection, 7u);
    EXPECT_EQ(read->beat, 9u);
    EXPECT_EQ(read->request.args, "{}");
    EXPECT_EQ(read->request.caller, "ann");
    EXPECT_EQ(read->request.agent, "planner");
    EXPECT_EQ(read->request.traceparent, "00-1");
}

TEST(MovedMessagesTest, AnyCutAndWhatNamesNobodyIsRefused) {
    const std::string moved = to_wire(Moved{.device = kKettle, .connection = 7});
    for (std::size_t size = 1; size < moved.size(); ++size) {
        const auto read = parse_moved(std::string_view(moved).substr(0, size));
        // Between two fields a cut leaves a body without some.
        if (read) EXPECT_EQ(read->device, kKettle);
    }
    DeviceProcess nobody = kKettle;
    nobody.instance.clear();
    EXPECT_FALSE(parse_moved(to_wire(Moved{.device = nobody, .connection = 7})));
    nobody.instance = std::string(DeviceProcess::kLongestPart + 1, 'x');
    EXPECT_FALSE(parse_moved(to_wire(Moved{.device = nobody, .connection = 7})));
    EXPECT_FALSE(parse_resume(to_wire(Resume{.device = kKettle})));
    EXPECT_FALSE(parse_reply(to_wire(Reply{.id = "r", .says = Reply::Says::kAnswer})));
    EXPECT_FALSE(parse_reply(to_wire(Reply{.id = "r", .frame = "x"})));
    EXPECT_FALSE(parse_reply(to_wire(Reply{.says = Reply::Says::kLinked})));
    EXPECT_TRUE(parse_reply(to_wire(Reply{.id = "r", .says = Reply::Says::kGone})));
}

}  // namespace
}  // namespace crab::fleet

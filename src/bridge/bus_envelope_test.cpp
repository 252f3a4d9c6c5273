#include "bridge/bus_envelope.hpp"

#include <gtest/gtest.h>

namespace crab::bridge {
namespace {

using namespace std::chrono_literals;
using cetp::Envelope;

TEST(BusErrorOutcome, AProviderThatIsNotThereIsNoEnvelopeSoTheCallIsRepeated) {
    for (const char* name : {"ServiceUnknown", "NameHasNoOwner", "NoReply", "Disconnected",
                             "Spawn.ChildExited", "Spawn.ExecFailed"}) {
        EXPECT_EQ(bus_error_outcome(std::string("org.freedesktop.DBus.Error.") + name, 1s),
                  std::nullopt)
            << name;
    }
}

TEST(BusErrorOutcome, ATimeoutIsAnAnswerWhateverItsName) {
    for (const char* name : {"Timeout", "TimedOut"}) {
        EXPECT_EQ(bus_error_outcome(std::string("org.freedesktop.DBus.Error.") + name, 1500ms),
                  Envelope::error("INTERNAL_ERROR", "no answer within 1500 ms"));
    }
}

TEST(BusErrorOutcome, RefusalsAndLimitsHaveTheirCodes) {
    for (const char* name : {"AccessDenied", "AuthFailed", "InteractiveAuthorizationRequired"}) {
        EXPECT_EQ(bus_error_outcome(std::string("org.freedesktop.DBus.Error.") + name, 1s)->code,
                  "PERMISSION_DENIED")
            << name;
    }
    EXPECT_EQ(bus_error_outcome("org.freedesktop.DBus.Error.LimitsExceeded", 1s)->code,
              "RATE_LIMITED");
}

TEST(BusErrorOutcome, AnyOtherErrorIsToldByItsName) {
    EXPECT_EQ(bus_error_outcome("org.example.Oops", 1s),
              Envelope::error("INTERNAL_ERROR", "the provider failed with org.example.Oops"));
    EXPECT_FALSE(bus_error_outcome("org.freedesktop.DBus.Error.Failed", 1s)->not_spoken);
}

TEST(BusErrorOutcome, WhoDoesNotKnowTheMethodDoesNotSpeakTheProtocol) {
    for (const char* name : {"UnknownMethod", "UnknownObject", "UnknownInterface", "InvalidArgs"}) {
        const auto outcome =
            bus_error_outcome(std::string("org.freedesktop.DBus.Error.") + name, 1s);
        EXPECT_TRUE(outcome->not_spoken) << name;
        EXPECT_EQ(outcome->code, "INTERNAL_ERROR") << name;
    }
}

}  // namespace
}  // namespace crab::bridge

// A listener on the test's own acceptor, and its behaviour when accepting fails.
#include "driver/nbd/server/listener.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "fake_executor.hpp"

namespace blkscope::nbd {
namespace {

using namespace std::chrono_literals;

/// The calls that the listener made to its acceptor.
struct Door {
    Acceptor::Accepted accepted;
    std::unique_ptr<StreamSocket> by_spare;
    int restored = 0;
    bool closed = false;
};

class FakeAcceptor final : public Acceptor {
  public:
    explicit FakeAcceptor(Door& door) : door_(door) {}
    void async_accept(Accepted accepted) override { door_.accepted = std::move(accepted); }
    std::unique_ptr<StreamSocket> accept_with_spare() override { return std::move(door_.by_spare); }
    void restore_spare() override { ++door_.restored; }
    void close() override { door_.closed = true; }
    const Uri& address() const override { return address_; }

  private:
    Door& door_;
    Uri address_;
};

struct RecordingHost final : Listener::Host {
    void admit(std::unique_ptr<StreamSocket>) override { ++admitted; }
    void admit_in_need(std::unique_ptr<StreamSocket>, int error) override {
        errors.push_back(error);
    }
    int admitted = 0;
    std::vector<int> errors;
};

class ListenerTest : public ::testing::Test {
  protected:
    void SetUp() override { listener_.start(host_); }
    void answer(int error) {
        const auto accepted = std::exchange(door_.accepted, nullptr);
        ASSERT_TRUE(accepted);
        if (error == 0) {
            accepted(client());
        } else {
            accepted(os_error(error));
        }
    }
    std::unique_ptr<StreamSocket> client() {
        return executor_.connect(std::make_shared<FakeWire>());
    }
    [[nodiscard]] bool accepting() const { return !!door_.accepted; }

    FakeExecutor executor_;
    Door door_;
    RecordingHost host_;
    Listener listener_{executor_, std::make_unique<FakeAcceptor>(door_)};
};

TEST_F(ListenerTest, TakesOneClientAfterTheOther) {
    for (int i = 0; i < 3; ++i) answer(0);
    EXPECT_EQ(host_.admitted, 3);
    EXPECT_TRUE(accepting());
}

TEST_F(ListenerTest, WithoutDescriptorsTheSpareOneLetsAClientIn) {
    for (const int error : {EMFILE, ENFILE}) {
        door_.by_spare = client();
        answer(error);
        EXPECT_TRUE(accepting());  // at once
    }
    EXPECT_EQ(host_.errors, (std::vector<int>{EMFILE, ENFILE}));
    EXPECT_EQ(door_.restored, 2);
    EXPECT_EQ(host_.admitted, 0);
}

TEST_F(ListenerTest, PausesWhereNothingHelps) {
    for (const int error : {EMFILE, ENOMEM, ENETDOWN}) {
        answer(error);
        EXPECT_FALSE(accepting());
        executor_.pass(99ms);
        EXPECT_FALSE(accepting());
        executor_.pass(1ms);
        EXPECT_TRUE(accepting());
    }
    EXPECT_TRUE(host_.errors.empty());
}

TEST_F(ListenerTest, StoppedInAPauseItStaysSo) {
    answer(ENOMEM);
    listener_.stop();
    EXPECT_TRUE(door_.closed);
    EXPECT_EQ(executor_.alarms(), 0u);
    executor_.pass(1min);
    EXPECT_FALSE(accepting());
}

}  // namespace
}  // namespace blkscope::nbd

#include <gtest/gtest.h>
#include <sys/ksynch.h>

#include <thread>

namespace {

class KernelMutex : public testing::Test {
  protected:
    KernelMutex() { mutex_init(&mutex, "test", MUTEX_DRIVER, nullptr); }
    ~KernelMutex() override { mutex_destroy(&mutex); }

    kmutex_t mutex;
};

TEST_F(KernelMutex, KnowsWhetherThisThreadHoldsIt) {
    EXPECT_FALSE(MUTEX_HELD(&mutex));
    mutex_enter(&mutex);
    EXPECT_TRUE(MUTEX_HELD(&mutex));
    bool other_holds = true;
    std::thread([&] { other_holds = MUTEX_HELD(&mutex) != 0; }).join();
    EXPECT_FALSE(other_holds);
    mutex_exit(&mutex);
    EXPECT_FALSE(MUTEX_HELD(&mutex));
}

TEST_F(KernelMutex, IsNotEnteredWhileAnotherThreadHoldsIt) {
    mutex_enter(&mutex);
    int entered = -1;
    std::thread([&] { entered = mutex_tryenter(&mutex); }).join();
    EXPECT_EQ(entered, 0);
    mutex_exit(&mutex);
    EXPECT_EQ(mutex_tryenter(&mutex), 1);
    mutex_exit(&mutex);
}

TEST_F(KernelMutex, KeepsTwoThreadsApart) {
    int counter = 0;
    const auto count = [&] {
        for (int i = 0; i < 10'000; ++i) {
            mutex_enter(&mutex);
            ++counter;
            mutex_exit(&mutex);
        }
    };
    std::thread other(count);
    count();
    other.join();
    EXPECT_EQ(counter, 20'000);
}

TEST_F(KernelMutex, IsFreeWhileItsHolderWaitsAndHeldAgainAfterwards) {
    kcondvar_t changed;
    cv_init(&changed, "test", CV_DRIVER, nullptr);
    bool ready = false;
    mutex_enter(&mutex);
    std::thread other([&] {
        mutex_enter(&mutex);  // enters only because cv_wait unlocked
        ready = true;
        cv_signal(&changed);
        cv_broadcast(&changed);
        mutex_exit(&mutex);
    });
    while (!ready) cv_wait(&changed, &mutex);
    EXPECT_TRUE(MUTEX_HELD(&mutex));
    mutex_exit(&mutex);
    other.join();
    cv_destroy(&changed);
}

using KernelMutexDeathTest = KernelMutex;

TEST_F(KernelMutexDeathTest, AbortsWhenEnteredTwice) {
    EXPECT_DEATH((mutex_enter(&mutex), mutex_enter(&mutex)), "holds the mutex already");
}

TEST_F(KernelMutexDeathTest, AbortsWhenLeftByAThreadThatDoesNotHoldIt) {
    EXPECT_DEATH(mutex_exit(&mutex), "does not hold the mutex");
}

TEST_F(KernelMutexDeathTest, AbortsWhenWaitedWithByAThreadThatDoesNotHoldIt) {
    kcondvar_t changed;
    cv_init(&changed, nullptr, CV_DEFAULT, nullptr);
    EXPECT_DEATH(cv_wait(&changed, &mutex), "cv_wait: the calling thread does not hold");
    cv_destroy(&changed);
}

TEST_F(KernelMutexDeathTest, IsNotDestroyedWhileHeld) {
    EXPECT_DEATH((mutex_enter(&mutex), mutex_destroy(&mutex)), "the mutex is held");
}

}  // namespace

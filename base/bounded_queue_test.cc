#include "base/bounded_queue.h"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(BoundedQueueTest, ItemsComeOutInOrder) {
  BoundedQueue<std::unique_ptr<int>> queue(3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.Push(std::make_unique<int>(i)));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(**queue.Pop(), i);
}

TEST(BoundedQueueTest, NoMoreThanItsCapacityIsInside) {
  constexpr int kItems = 10'000, kCapacity = 3;
  BoundedQueue<int> queue(kCapacity);
  std::atomic<int> pushed{0};
  std::thread producer([&] {
    for (int i = 0; i < kItems; ++i) {
      ASSERT_TRUE(queue.Push(i));
      ++pushed;
    }
  });
  for (int i = 0; i < kItems; ++i) {
    EXPECT_EQ(queue.Pop(), i);
    EXPECT_LE(pushed, i + 1 + kCapacity);
  }
  producer.join();
}

TEST(BoundedQueueTest, EveryItemReachesExactlyOneConsumer) {
  constexpr int kThreads = 4, kItemsEach = 1000;
  BoundedQueue<int> queue(2);
  std::vector<std::atomic<int>> taken(kThreads * kItemsEach);
  std::vector<std::thread> consumers, producers;
  for (int t = 0; t < kThreads; ++t) {
    consumers.emplace_back([&] {
      while (const std::optional<int> item = queue.Pop()) ++taken[*item];
    });
    producers.emplace_back([&, t] {
      for (int i = 0; i < kItemsEach; ++i) EXPECT_TRUE(queue.Push(t * kItemsEach + i));
    });
  }
  for (std::thread& producer : producers) producer.join();
  queue.Close();
  for (std::thread& consumer : consumers) consumer.join();
  for (const std::atomic<int>& count : taken) EXPECT_EQ(count, 1);
}

TEST(BoundedQueueTest, ClosingLetsConsumersDrainAndRefusesProducers) {
  BoundedQueue<int> queue(2);
  ASSERT_TRUE(queue.Push(1));
  queue.Close();
  EXPECT_FALSE(queue.Push(2));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, ClosingEndsBothWaits) {
  BoundedQueue<int> full(1), empty(1);
  ASSERT_TRUE(full.Push(1));
  std::thread producer([&] { EXPECT_FALSE(full.Push(2)); });
  std::thread consumer([&] { EXPECT_EQ(empty.Pop(), std::nullopt); });
  full.Close();
  empty.Close();
  producer.join();
  consumer.join();
}

}  // namespace
}  // namespace lockstep

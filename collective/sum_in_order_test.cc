#include "collective/sum_in_order.h"

#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Around the block of 4096 bytes.
constexpr size_t kSizes[] = {0, 1, 7, 511, 512, 513, 1023, 1024, 1025, 5000};

template <typename T>
std::vector<std::vector<T>> RandomOperands(int count, size_t size) {
  std::vector<std::vector<T>> operands(count, std::vector<T>(size));
  for (int k = 0; k < count; ++k) {
    for (size_t i = 0; i < size; ++i)
      operands[k][i] = static_cast<T>(UnitFloat(Philox(7, RandomPurpose::kSynthetic, k, i)[0]) - 0.5f) * 1000;
  }
  return operands;
}

template <typename T>
void ExpectSumInOrder(int count, size_t size) {
  const std::vector<std::vector<T>> operands = RandomOperands<T>(count, size);
  std::vector<T> expected(size);
  for (size_t i = 0; i < size; ++i) {
    expected[i] = operands[0][i];
    for (int k = 1; k < count; ++k) expected[i] += operands[k][i];
  }
  // Into memory of its own, and into each operand.
  for (int into = -1; into < count; ++into) {
    std::vector<std::vector<T>> copies = operands;
    std::vector<T> separate(size);
    std::vector<const T*> pointers;
    for (const std::vector<T>& copy : copies) pointers.push_back(copy.data());
    std::vector<T>& sum = into < 0 ? separate : copies[into];
    SumInOrder(pointers, size, sum.data());
    ASSERT_EQ(sum, expected) << count << " operands of " << size << " into " << into;
    for (int k = 0; k < count; ++k) {
      if (k != into) {
        ASSERT_EQ(copies[k], operands[k]);
      }
    }
  }
}

TEST(SumInOrderTest, AddsInTheOrderGivenAlsoInPlace) {
  for (const int count : {1, 2, 3, 8}) {
    for (const size_t size : kSizes) {
      ExpectSumInOrder<float>(count, size);
      ExpectSumInOrder<double>(count, size);
    }
  }
}

}  // namespace
}  // namespace lockstep

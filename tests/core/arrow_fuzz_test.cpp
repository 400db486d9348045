// Random damage to the metadata of valid Arrow C arrays: an import either fails or gives a table that can be read, and
// releases everything exactly once. The interface carries no buffer sizes, so lengths and offsets are damaged only to
// values that the buffers hold or that no address space holds, and formats only to ones that need no more bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "garuda/arrow_c.hpp"
#include "tests/core/column_cells.hpp"
#include "tests/core/foreign_arrow.hpp"
#include "tests/core/sample_batch.hpp"

namespace garuda {
namespace {

using namespace garuda::testing;  // NOLINT: the fixtures of this suite

constexpr std::uint64_t kSeed = 20'250'611;
constexpr int kRounds = 20'000;

class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_); }

  /// At most `greatest`, negative, or beyond every address space.
  std::int64_t extent(std::int64_t greatest) {
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
    std::array const values{greatest,
                            greatest - 1,
                            static_cast<std::int64_t>(below(static_cast<std::size_t>(greatest) + 1)),
                            std::int64_t{0},
                            std::int64_t{-1},
                            -static_cast<std::int64_t>(random_() >> 1),
                            kMin,
                            kMax,
                            kMax - greatest,
                            kMax / 2 + static_cast<std::int64_t>(below(100))};
    return values[below(values.size())];
  }

  void damage_array(ForeignNode& node) {
    auto& array = node.array;
    switch (below(10)) {
      case 0:
        array.length = extent(node.length);
        break;
      case 1:
        array.offset = extent(node.offset);
        break;
      case 2:
        array.null_count = extent(node.length + 1);
        break;
      case 3:
        array.n_buffers = extent(std::ssize(node.buffers));
        break;
      case 4:
        array.n_children = extent(std::ssize(node.children));
        break;
      case 5:
        array.buffers = nullptr;
        break;
      case 6:
        node.buffers[below(node.buffers.size())] = nullptr;
        break;
      case 7:
        if (array.dictionary != nullptr) array.dictionary = nullptr;
        break;
      case 8:
        if (!node.children.empty()) array.children[below(node.children.size())] = nullptr;
        break;
      default:
        damage_values(node);
        break;
    }
  }

  void damage_schema(ForeignNode& node) {
    // The last three need a byte a row, which booleans do not have.
    static constexpr std::array kFormats{"",    "n",    "+s", "+l",   "+us:1", "+vl",   "+m", "+r",
                                         "b",   "w:0",  "w:", "ts",   "td",    "d:0,0", "d:", "d:5,2,7",
                                         "d:,", "d:99", "zz", "\xff", "+w:x",  "c",     "C",  "w:1"};
    auto const num_formats = kFormats.size() - (node.format == "b" ? 3 : 0);
    switch (below(5)) {
      case 0:
        node.schema.format = kFormats[below(num_formats)];
        break;
      case 1:
        node.schema.format = nullptr;
        break;
      case 2:
        node.schema.n_children = extent(std::ssize(node.children));
        break;
      case 3:
        node.schema.name = nullptr;
        break;
      default:
        node.schema.children = nullptr;
        break;
    }
  }

 private:
  /// Writes one element of the second buffer: an offset within the data or negative, a random index, a random value.
  void damage_values(ForeignNode& node) {
    if (node.storage.size() < 2 || node.storage[1] == nullptr) return;
    auto const at = static_cast<std::size_t>(node.offset) + below(static_cast<std::size_t>(node.length));
    if (node.format == "u") {
      auto* offsets = node.buffer<std::int32_t>(1);
      auto const end = static_cast<std::size_t>(offsets[node.offset + node.length]);
      offsets[at] = static_cast<std::int32_t>(below(end + 2)) - 1;
    } else if (node.format == "Z") {
      auto* offsets = node.buffer<std::int64_t>(1);
      auto const end = static_cast<std::size_t>(offsets[node.offset + node.length]);
      offsets[at] = static_cast<std::int64_t>(below(end + 2)) - 1;
    } else if (node.format == "c") {
      node.buffer<std::int8_t>(1)[at] = static_cast<std::int8_t>(random_());
    }
  }

  std::mt19937_64 random_;
};

/// Reads every cell, and every exported one.
std::size_t read_all(Table const& table) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < table.schema().size(); ++i) {
    for (auto const& value : cells(table.view(), i)) bytes += value ? value->size() : 1;
  }
  for (auto const& batch : table.batches()) {
    ArrowArray array{};
    ArrowSchema schema{};
    EXPECT_TRUE(export_arrow(table.schema(), Batch(batch), &array, &schema));
    auto const again = import_arrow(&array, &schema);
    EXPECT_TRUE(again) << again.error().describe();
  }
  return bytes;
}

TEST(ArrowFuzz, DamagedMetadataNeverCrashes) {
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  RecordProperty("seed", std::to_string(kSeed));
  Damage damage(kSeed);
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto batch = sample_batch();
    auto nodes = batch.root().tree();
    auto const times = 1 + damage.below(3);
    for (std::size_t i = 0; i < times; ++i) {
      auto& node = *nodes[damage.below(nodes.size())];
      if (damage.below(4) == 0) {
        damage.damage_schema(node);
      } else {
        damage.damage_array(node);
      }
    }
    {
      auto const table = import_arrow(batch.array(), batch.schema());
      if (table) {
        ++accepted;
        read_all(*table);
      } else {
        ASSERT_EQ(table.error().code(), ErrorCode::invalid_input) << "round " << round;
      }
    }
    ASSERT_TRUE(batch.arrays_released()) << "round " << round;
    ASSERT_TRUE(batch.schemas_released()) << "round " << round;
  }
  // Damage that no rule forbids, and damage that one does, both appear often.
  EXPECT_GT(accepted, kRounds / 20);
  EXPECT_LT(accepted, kRounds * 3 / 4);
}

}  // namespace
}  // namespace garuda

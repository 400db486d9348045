#include "garuda/table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "core/bitmap.hpp"
#include "core/buffer.hpp"
#include "core/os/memory.hpp"

// Lets AddressSanitizer's allocator fail as others do; read by its runtime, unused without it.
extern "C" char const* __asan_default_options() { return "allocator_may_return_null=1"; }  // NOLINT: its name

namespace garuda {
namespace {

TEST(Bitmap, CountsOnesOfAnyRange) {
  std::mt19937_64 random(42);  // NOLINT: repeatable
  std::vector<std::uint8_t> bytes(40);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  for (std::int64_t begin = 0; begin <= 320; ++begin) {
    std::int64_t ones = 0;
    for (std::int64_t end = begin; end <= 320; ++end) {
      ASSERT_EQ(count_ones(bytes.data(), begin, end - begin), ones) << begin << " " << end;
      if (end < 320) ones += get_bit(bytes.data(), end) ? 1 : 0;
    }
  }
}

TEST(Bitmap, ReadsOnlyTheBytesOfTheRange) {
  for (std::int64_t length = 1; length <= 200; ++length) {
    std::vector<std::uint8_t> const bytes(static_cast<std::size_t>(bitmap_bytes(length)), 0xFF);
    EXPECT_EQ(count_ones(bytes.data(), 0, length), length);
  }
}

TEST(AlignedBuffer, IsAlignedPaddedAndExactlySized) {
  auto const unit = buffer_alignment();
  EXPECT_EQ(unit % os::page_bytes(), 0) << "whole pages";
  EXPECT_EQ(unit % 4'096, 0);
  for (std::int64_t const size : {1, 4'095, 4'096, 4'097, 1'000'000, 2'097'151, 2'097'152, 2'097'153, 5'000'000}) {
    auto buffer = AlignedBuffer::allocate(size).value();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % static_cast<std::uintptr_t>(unit), 0U);
    EXPECT_EQ(buffer.size_bytes(), size);
    EXPECT_EQ(buffer.capacity_bytes() % unit, 0);
    EXPECT_GE(buffer.capacity_bytes(), size);
    EXPECT_LT(buffer.capacity_bytes(), size + unit);
    for (auto i = size; i < buffer.capacity_bytes(); ++i) ASSERT_EQ(buffer.data()[i], std::byte{0});
    auto const* address = buffer.data();
    buffer.truncate(size - 1);
    EXPECT_EQ(buffer.size_bytes(), size - 1);
    auto const moved = std::move(buffer);
    EXPECT_EQ(moved.data(), address);
  }
}

TEST(AlignedBuffer, HasNoAddressWhenEmpty) {
  auto const buffer = AlignedBuffer::allocate(0).value();
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.capacity_bytes(), 0);
}

TEST(AlignedBuffer, ReportsExhaustedMemory) {
  // The second size overflows when it is rounded up; the first is more than any address space.
  for (auto const size : {std::int64_t{1} << 60, std::numeric_limits<std::int64_t>::max()}) {
    auto const buffer = AlignedBuffer::allocate(size);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code(), ErrorCode::out_of_memory);
    EXPECT_NE(buffer.error().message().find(std::to_string(size)), std::string::npos);
  }
}

TEST(AlignedBuffer, RefusesMisuse) {
  EXPECT_THROW((void)AlignedBuffer::allocate(-1), LogicError);
  auto buffer = AlignedBuffer::allocate(8).value();
  EXPECT_THROW(buffer.truncate(9), LogicError);
}

TEST(ArrayView, CountsAndSlicesNulls) {
  std::array<std::uint8_t, 2> const validity{0b1111'0101, 0b0000'0110};  // nulls: 1, 3, 8, 11
  std::array<std::int32_t, 12> const values{};
  ArrayView array{.length = 12, .validity = validity.data(), .values = values.data()};
  EXPECT_EQ(count_nulls(array), 4);
  array.null_count = 4;
  EXPECT_EQ(count_nulls(array), 4);

  auto const part = slice(array, 3, 6);
  EXPECT_EQ(part.length, 6);
  EXPECT_EQ(part.offset, 3);
  EXPECT_EQ(part.null_count, -1);
  EXPECT_EQ(count_nulls(part), 2);
  EXPECT_TRUE(part.is_null(0));
  EXPECT_FALSE(part.is_null(1));
  EXPECT_EQ(part.data<std::int32_t>(), values.data() + 3);
  EXPECT_EQ(count_nulls(slice(part, 1, 4)), 0);
  EXPECT_EQ(slice(array, 0, 12).null_count, 4);
  EXPECT_EQ(slice(array, 12, 0).length, 0);
  EXPECT_EQ(count_nulls(slice(array, 12, 0)), 0);

  array.null_count = 12;
  EXPECT_EQ(slice(array, 2, 3).null_count, 3);
  array.validity = nullptr;
  EXPECT_EQ(slice(array, 2, 3).null_count, 0);
  EXPECT_THROW((void)slice(array, 2, 11), LogicError);
  EXPECT_THROW((void)slice(array, -1, 1), LogicError);
  EXPECT_THROW((void)slice(array, 13, 0), LogicError);
}

Batch batch_of(std::int64_t num_rows) {
  return Batch{num_rows, {ArrayView{.length = num_rows, .null_count = 0}}, nullptr};
}

TEST(Table, AddsUpItsBatches) {
  Schema const schema{{"k", DataType{.id = TypeId::int32}, true}};
  std::vector<Batch> batches;
  for (auto const rows : {3, 0, 5}) batches.push_back(batch_of(rows));
  Table table(schema, std::move(batches));
  auto const moved = std::move(table);
  EXPECT_EQ(moved.num_rows(), 8);
  EXPECT_EQ(moved.schema(), schema);
  EXPECT_EQ(moved.view().num_batches(), 3U);
  EXPECT_EQ(moved.view().num_columns(), 1U);
  EXPECT_EQ(moved.view().batch(2).num_rows, 5);
  EXPECT_EQ(moved.view().batch(2).columns[0].length, 5);
  EXPECT_EQ(&moved.view().schema(), &moved.schema());
}

TEST(Table, RefusesBatchesOfAnotherShape) {
  std::vector<Batch> batches;
  batches.push_back(batch_of(3));
  EXPECT_THROW(Table(Schema{}, std::move(batches)), LogicError);

  Schema const schema{{"k", DataType{.id = TypeId::int32}, true}};
  std::array<ArrayView, 1> const columns{ArrayView{.length = 2}};
  std::array<BatchView, 1> const views{BatchView{3, columns}};
  EXPECT_THROW(TableView(schema, views), LogicError);
}

class CountingStream : public BatchStream {
 public:
  explicit CountingStream(std::int64_t fail_at) : fail_at_(fail_at) {}
  Schema const& schema() const noexcept override { return schema_; }
  Result<std::optional<Batch>> next() override {
    if (position_ == fail_at_) return fail(ErrorCode::cancelled, "stopped");
    if (position_ == 4) return std::optional<Batch>();
    return std::optional<Batch>(batch_of(position_++));
  }

 private:
  Schema schema_{{"k", DataType{.id = TypeId::int32}, true}};
  std::int64_t fail_at_;
  std::int64_t position_ = 0;
};

TEST(Collect, ReadsAStreamToItsEnd) {
  CountingStream stream(-1);
  auto const table = collect(stream);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->num_rows(), 0 + 1 + 2 + 3);
  EXPECT_EQ(table->batches().size(), 4U);
}

TEST(Collect, PassesAnErrorOn) {
  CountingStream stream(2);
  auto const table = collect(stream);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace garuda

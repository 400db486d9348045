#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "garuda/arrow_c.hpp"
#include "tests/core/column_cells.hpp"
#include "tests/core/foreign_arrow.hpp"
#include "tests/core/sample_batch.hpp"

namespace garuda {
namespace {

using namespace garuda::testing;  // NOLINT: the fixtures of this suite

/// A copy that shares the owner.
Batch copy_of(Batch const& batch) { return batch; }

TEST(ArrowExport, RoundTripsEveryLayout) {
  auto foreign = sample_batch();
  auto expected = sample_batch();
  auto const reference = import_arrow(expected.array(), expected.schema());
  ASSERT_TRUE(reference);
  ArrowArray array{};
  ArrowSchema schema{};
  {
    auto const table = import_arrow(foreign.array(), foreign.schema());
    ASSERT_TRUE(table);
    ASSERT_TRUE(export_arrow(table->schema(), copy_of(table->batches()[0]), &array, &schema));
  }
  EXPECT_TRUE(foreign.arrays_released(0)) << "the exported array keeps the owner";
  {
    auto const again = import_arrow(&array, &schema);
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_EQ(again->schema(), reference->schema());
    for (std::size_t i = 0; i < kSampleColumns; ++i) EXPECT_EQ(cells(again->view(), i), cells(reference->view(), i));
  }
  EXPECT_TRUE(foreign.arrays_released());
}

TEST(ArrowExport, DescribesTheLayoutOfTheInterface) {
  auto foreign = sample_batch();
  auto const table = import_arrow(foreign.array(), foreign.schema());
  ASSERT_TRUE(table);
  ArrowArray array{};
  ArrowSchema schema{};
  ASSERT_TRUE(export_arrow(table->schema(), copy_of(table->batches()[0]), &array, &schema));
  EXPECT_STREQ(schema.format, "+s");
  EXPECT_EQ(schema.n_children, std::int64_t{kSampleColumns});
  EXPECT_EQ(array.n_children, std::int64_t{kSampleColumns});
  EXPECT_EQ(array.length, 5);
  EXPECT_EQ(array.offset, 0);
  EXPECT_EQ(array.n_buffers, 1);
  EXPECT_EQ(array.buffers[0], nullptr);
  EXPECT_EQ(array.null_count, 0);
  std::vector<std::string> const formats{"l", "u", "b", "c", "Z", "d:20,3", "w:3"};
  for (std::size_t i = 0; i < kSampleColumns; ++i) {
    EXPECT_EQ(schema.children[i]->format, formats[i]);
    EXPECT_EQ(schema.children[i]->name, foreign.column(i).name);
    EXPECT_EQ(array.children[i]->n_buffers, i == kText || i == kBlob ? 3 : 2);
  }
  EXPECT_EQ(schema.children[kInt]->flags, ARROW_FLAG_NULLABLE);
  EXPECT_STREQ(schema.children[kWord]->dictionary->format, "u");
  EXPECT_EQ(array.children[kWord]->dictionary->length, 3);
  EXPECT_EQ(array.children[kInt]->null_count, 2);
  EXPECT_EQ(array.children[kBlob]->null_count, 0);
  EXPECT_EQ(array.children[kBlob]->buffers[0], nullptr);
  array.release(&array);
  schema.release(&schema);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_EQ(schema.release, nullptr);
}

TEST(ArrowExport, ReleasesOnceAndSparesWhatWasMovedOut) {
  auto foreign = sample_batch();
  ArrowArray array{};
  ArrowSchema schema{};
  {
    auto const table = import_arrow(foreign.array(), foreign.schema());
    ASSERT_TRUE(table);
    ASSERT_TRUE(export_arrow(table->schema(), copy_of(table->batches()[0]), &array, &schema));
  }
  auto child = *array.children[kWord];
  array.children[kWord]->release = nullptr;
  auto child_schema = *schema.children[kWord];
  schema.children[kWord]->release = nullptr;

  auto* const release_array = array.release;
  auto* const release_schema = schema.release;
  release_array(&array);
  release_array(&array);
  release_schema(&schema);
  release_schema(&schema);
  EXPECT_TRUE(foreign.arrays_released(0)) << "the child that was moved out keeps the owner";
  EXPECT_STREQ(child_schema.name, "word");
  EXPECT_STREQ(child_schema.dictionary->format, "u");
  EXPECT_EQ(static_cast<std::int8_t const*>(child.buffers[1])[child.offset + 1], 2);
  EXPECT_EQ(child.dictionary->length, 3);

  auto dictionary = *child.dictionary;
  child.dictionary->release = nullptr;
  child.release(&child);
  child_schema.release(&child_schema);
  EXPECT_TRUE(foreign.arrays_released(0)) << "the dictionary that was moved out keeps the owner";
  dictionary.release(&dictionary);
  EXPECT_TRUE(foreign.arrays_released());
}

TEST(ArrowExport, GivesEmptyColumnsBuffers) {
  Schema const fields{{"int", DataType{.id = TypeId::int64}, false}, {"text", DataType{.id = TypeId::utf8}, true}};
  ArrowArray array{};
  ArrowSchema schema{};
  ASSERT_TRUE(export_arrow(fields, Batch{0, {ArrayView{}, ArrayView{}}, nullptr}, &array, &schema));
  EXPECT_EQ(schema.children[0]->flags, 0);
  EXPECT_NE(array.children[0]->buffers[1], nullptr);
  ASSERT_NE(array.children[1]->buffers[1], nullptr);
  EXPECT_EQ(static_cast<std::int32_t const*>(array.children[1]->buffers[1])[0], 0);
  EXPECT_NE(array.children[1]->buffers[2], nullptr);
  auto const table = import_arrow(&array, &schema);
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_EQ(table->schema(), fields);
}

TEST(ArrowExport, RefusesMisuse) {
  Schema const fields{{"int", DataType{.id = TypeId::int64}, false}};
  ArrowArray array{};
  ArrowSchema schema{};
  EXPECT_THROW((void)export_arrow(fields, Batch{}, &array, &schema), LogicError);
  EXPECT_THROW((void)export_arrow(fields, Batch{1, {ArrayView{}}, nullptr}, &array, &schema), LogicError);
  EXPECT_THROW((void)export_arrow(fields, Batch{0, {ArrayView{}}, nullptr}, nullptr, &schema), LogicError);
  ArrayView on_device;
  on_device.location.kind = Location::Kind::device;
  EXPECT_THROW((void)export_arrow(fields, Batch{0, {on_device}, nullptr}, &array, &schema), LogicError);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_EQ(schema.release, nullptr);
}

/// Gives the batches of a table, then an error or a LogicError or the end.
class TableStream : public BatchStream {
 public:
  enum class End { regular, error, exception };

  TableStream(Table table, End end, bool* destroyed) : table_(std::move(table)), end_(end), destroyed_(destroyed) {}
  ~TableStream() override { *destroyed_ = true; }
  Schema const& schema() const noexcept override { return table_.schema(); }
  Result<std::optional<Batch>> next() override {
    if (position_ < table_.batches().size()) return std::optional(copy_of(table_.batches()[position_++]));
    if (end_ == End::exception) throw LogicError("a bug");
    if (end_ == End::error) {
      end_ = End::regular;
      return fail(ErrorCode::device_failure, "vkQueueSubmit failed: VK_ERROR_DEVICE_LOST");
    }
    return std::optional<Batch>();
  }

 private:
  Table table_;
  End end_;
  bool* destroyed_;
  std::size_t position_ = 0;
};

ArrowArrayStream stream_of(ForeignBatch& foreign, TableStream::End end, bool* destroyed) {
  ArrowArrayStream stream{};
  export_arrow(std::make_unique<TableStream>(import_arrow(foreign.array(), foreign.schema()).value(), end, destroyed),
               &stream);
  return stream;
}

TEST(ArrowStreamExport, RoundTrips) {
  auto foreign = sample_batch();
  bool destroyed = false;
  auto stream = stream_of(foreign, TableStream::End::regular, &destroyed);
  EXPECT_EQ(stream.get_last_error(&stream), nullptr);
  {
    auto const table = import_arrow(&stream);
    ASSERT_TRUE(table) << table.error().describe();
    EXPECT_TRUE(destroyed);
    EXPECT_EQ(table->num_rows(), 5);
    EXPECT_EQ(cells(table->view(), kText)[3], "four");
  }
  EXPECT_TRUE(foreign.arrays_released());
}

TEST(ArrowStreamExport, ReportsAnErrorUntilItIsReleased) {
  auto foreign = sample_batch();
  bool destroyed = false;
  auto stream = stream_of(foreign, TableStream::End::error, &destroyed);
  ArrowArray array{};
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  array.release(&array);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(stream.get_next(&stream, &array), EIO);
    EXPECT_STREQ(stream.get_last_error(&stream), "vkQueueSubmit failed: VK_ERROR_DEVICE_LOST");
    EXPECT_EQ(array.release, nullptr);
  }
  auto* const release = stream.release;
  release(&stream);
  EXPECT_TRUE(destroyed);
  release(&stream);
  EXPECT_EQ(stream.release, nullptr);
}

TEST(ArrowStreamExport, LetsNoExceptionThrough) {
  auto foreign = sample_batch();
  bool destroyed = false;
  auto stream = stream_of(foreign, TableStream::End::exception, &destroyed);
  auto const table = import_arrow(&stream);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().message(), "the producer of the stream failed with code 22: a bug");
  EXPECT_TRUE(destroyed);
  EXPECT_TRUE(foreign.arrays_released());
}

}  // namespace
}  // namespace garuda

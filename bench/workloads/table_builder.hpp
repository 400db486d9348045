// Tables of generated columns.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::bench {

/// Collects the columns of one table in one batch, without nulls, aligned so that a device can import them; rows are
/// filled in parallel by functions of the row alone.
class TableBuilder {
 public:
  explicit TableBuilder(std::uint64_t num_rows) : num_rows_(num_rows) {}

  /// Adds a column of int32, int64 or double values. Errors: out_of_memory.
  template <class T, class ValueOfRow>
  Result<void> add_column(std::string name, ValueOfRow const& value_of_row) {
    DataType type;
    type.id = std::is_same_v<T, double> ? TypeId::float64 : sizeof(T) == 4 ? TypeId::int32 : TypeId::int64;
    return add_column({std::move(name), type, false}, [&](std::byte* bytes) -> Result<void> {
      auto* const values = reinterpret_cast<T*>(bytes);
      tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, num_rows_, 1U << 14), [&](auto const& rows) {
        for (auto row = rows.begin(); row != rows.end(); ++row) values[row] = value_of_row(row);
      });
      return {};
    });
  }

  /// Adds a column of fixed width that `fill` writes. Errors: out_of_memory; those of `fill`.
  Result<void> add_column(Field field, std::function<Result<void>(std::byte*)> const& fill) {
    auto const bytes = static_cast<std::int64_t>(num_rows_) * byte_width(field.type);
    GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(bytes));
    GARUDA_TRY(fill(buffer.data()));
    schema_.push_back(std::move(field));
    ArrayView column;
    column.length = static_cast<std::int64_t>(num_rows_);
    column.null_count = 0;
    column.values = buffer.data();
    columns_.push_back(column);
    buffers_.push_back(std::move(buffer));
    return {};
  }

  Table finish() {
    Batch batch;
    batch.num_rows = static_cast<std::int64_t>(num_rows_);
    batch.columns = std::move(columns_);
    batch.owner = std::make_shared<std::vector<AlignedBuffer>>(std::move(buffers_));
    std::vector<Batch> batches;
    batches.push_back(std::move(batch));
    return Table(std::move(schema_), std::move(batches));
  }

 private:
  std::uint64_t num_rows_;
  Schema schema_;
  std::vector<ArrayView> columns_;
  std::vector<AlignedBuffer> buffers_;
};

}  // namespace garuda::bench

#include "spill/take_rows.hpp"

#include <arrow/compute/api_vector.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "operators/materialize/gather.hpp"

namespace garuda::spill {
namespace {

/// Views and runs, which Arrow does not take rows of.
bool is_gathered(arrow::DataType const& type) {
  if (type.id() == arrow::Type::STRING_VIEW || type.id() == arrow::Type::BINARY_VIEW ||
      type.id() == arrow::Type::RUN_END_ENCODED)
    return true;
  return std::ranges::any_of(type.fields(), [](auto const& field) { return is_gathered(*field->type()); });
}

Result<std::shared_ptr<arrow::Array>> gather_column(arrow::RecordBatch const& batch, int column,
                                                    std::span<std::uint32_t const> rows) {
  GARUDA_ARROW_TRY_ASSIGN(auto const alone, batch.SelectColumns({column}), ErrorCode::invalid_input,
                          "cannot select a column");
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(alone->schema(), {alone}));
  std::array<std::size_t, 1> const all{0};
  GARUDA_TRY_ASSIGN(auto const gatherer, Gatherer::create(table.view(), all));
  GARUDA_TRY_ASSIGN(auto gathered, gatherer.gather(rows));
  GARUDA_EXPECTS(std::cmp_equal(gathered.rows_taken, rows.size()));
  GARUDA_TRY_ASSIGN(auto const taken, io::to_arrow_batch(gatherer.schema(), std::move(gathered.batch)));
  return taken->column(0);
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> take_rows(arrow::RecordBatch const& batch,
                                                      std::shared_ptr<arrow::Buffer> indices, std::int64_t count) {
  std::span const positions(reinterpret_cast<std::uint32_t const*>(indices->data()), static_cast<std::size_t>(count));
  auto const rows = std::make_shared<arrow::UInt32Array>(count, std::move(indices));
  auto context = io::single_threaded();
  arrow::ArrayVector columns;
  for (int c = 0; c < batch.num_columns(); ++c) {
    if (is_gathered(*batch.column(c)->type())) {
      GARUDA_TRY_ASSIGN(auto column, gather_column(batch, c, positions));
      columns.push_back(std::move(column));
      continue;
    }
    GARUDA_ARROW_TRY_ASSIGN(
        auto const column,
        arrow::compute::Take(batch.column(c), rows, arrow::compute::TakeOptions::NoBoundsCheck(), &context),
        ErrorCode::invalid_input, "cannot take rows of a batch");
    columns.push_back(column.make_array());
  }
  return arrow::RecordBatch::Make(batch.schema(), count, std::move(columns));
}

}  // namespace garuda::spill
